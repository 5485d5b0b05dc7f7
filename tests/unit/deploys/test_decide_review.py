from __future__ import annotations

import pytest

from tests.builders import NOW, any_deployment, deployment_in
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.review import Answer, decided
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.jobs.record_result import record_result
from tidegate.messages import RecordResult
from tidegate.rules.errors import CloudUnavailable, NotFound
from tidegate.rules.timestamp import timestamp_text
from tidegate.vcs.rules.comparison import Comparison

LATER = utc("2026-03-02T10:00")
ANSWERS = [(Answer.APPROVE, State.APPROVED), (Answer.REJECT, State.REJECTED)]


class ReviewedScenario(Scenario):
    """A scenario with a deployment that waits for its review."""

    def waiting(self, **fields):
        deployment = self.put(deployment_in(State.AWAITING_REVIEW, **fields))
        self.deployments.keep_review_token(deployment.id, deployment.review.id, "token")
        self.workflows.waiting.add("token")
        return deployment

    def decide(self, answer=Answer.APPROVE, by="reviewer", at=LATER, deployments=None, seen=None, **said):
        ports = changed(self.ports, deployments=deployments or self.deployments)
        return decide_review(ports, any_deployment().id, answer, by, at, seen, **said)

    @property
    def now(self):
        return self.deployments.get(any_deployment().id)


@pytest.fixture
def scenario():
    return ReviewedScenario()


@pytest.mark.parametrize(("answer", "state"), ANSWERS)
def test_an_answer_decides_settles_and_is_announced(scenario, answer, state):
    scenario.waiting()
    assert scenario.decide(answer).done
    assert (scenario.now.state, scenario.now.review.by, scenario.now.review.at) == (state, "reviewer", LATER)
    assert scenario.workflows.settled == {
        "token": {"approved": state is State.APPROVED, "by": "reviewer", "at": timestamp_text(LATER)}
    }
    assert scenario.states() == [state]
    assert scenario.event_publisher.lines == [any_deployment().queue]


@pytest.mark.parametrize("answer", Answer)
def test_a_plan_whose_text_was_altered_can_only_be_rejected(scenario, answer):
    approves = answer is Answer.APPROVE
    waiting = scenario.waiting()
    scenario.artifacts.put(waiting.planned.plan.text.key, b"No changes.")
    decision = scenario.decide(answer)
    assert decision.done is not approves
    assert ("was modified after" in decision.reason) is approves
    assert scenario.now.state is (State.AWAITING_REVIEW if approves else State.REJECTED)


@pytest.mark.parametrize("answer", Answer)
def test_a_plan_whose_commit_was_forced_off_its_branch_can_only_be_rejected(scenario, answer):
    waiting = scenario.waiting()
    scenario.forge.comparisons[waiting.revision.sha, "main"] = Comparison.DIVERGED
    decision = scenario.decide(answer)
    assert decision.done is (answer is Answer.REJECT)
    assert ("force push" in decision.reason) is (answer is Answer.APPROVE)


@pytest.mark.parametrize("expired", ["the text", "the plan"])
def test_a_plan_whose_text_has_expired_can_be_approved(scenario, expired):
    scenario.waiting(**({"plan": None} if expired == "the plan" else {}))
    scenario.artifacts.objects.clear()
    assert scenario.decide().done


def test_a_rejection_is_audited_and_an_approval_is_part_of_the_applies_message(scenario):
    scenario.waiting()
    scenario.decide(Answer.REJECT)
    (message,) = scenario.audit.published
    assert (message.state, message.body["rejected_by"], message.body["approved_by"]) == ("REJECTED", "reviewer", None)
    assert [audited.event for audited in scenario.now.audited] == [message.event]


def test_an_approval_alone_is_not_audited(scenario):
    scenario.waiting()
    scenario.decide()
    assert scenario.audit.published == []


def test_one_of_two_approvals_is_shown_and_settles_nothing(scenario):
    scenario.waiting(review_rule=ReviewRule(approvals=2))
    first = scenario.decide(by="first")
    assert (first.done, first.reason) == (True, "first approved the plan. 1 more approval is needed.")
    assert scenario.workflows.settled == {}
    assert [approval.by for approval in scenario.event_publisher.announced[-1].review.approvals] == ["first"]
    assert scenario.decide(by="second").done
    assert scenario.now.state is State.APPROVED
    assert scenario.workflows.settled["token"]["by"] == "second"


def test_two_who_approve_at_the_same_moment_both_count(scenario):
    scenario.waiting(review_rule=ReviewRule(approvals=2))

    class ConfirmedMeanwhile:
        def __init__(self):
            self.meanwhile = [lambda: scenario.decide(by="first", at=NOW)]
            self.get, self.review_token = scenario.deployments.get, scenario.deployments.review_token

        def save(self, deployment):
            while self.meanwhile:
                self.meanwhile.pop()()
            return scenario.deployments.save(deployment)

    assert scenario.decide(by="second", deployments=ConfirmedMeanwhile()).done
    assert [approval.by for approval in scenario.now.review.approvals] == ["first", "second"]
    assert scenario.now.state is State.APPROVED


def test_who_is_not_allowed_hears_why_and_changes_nothing(scenario):
    before = scenario.waiting(review_rule=ReviewRule(exclude_authors=True), authors=("developer",))
    refused = scenario.decide(by="developer")
    assert not refused.done
    assert "developer" in refused.reason
    assert scenario.now == before
    assert scenario.event_publisher.announced == []


def test_who_answers_for_what_failed_hears_what_to_do_next(scenario):
    scenario.put(deployment_in(State.PLAN_FAILED))
    decision = scenario.decide(Answer.REJECT)
    assert not decision.done
    assert decision.reason.startswith("This deployment has ended (plan failed) and does not wait for a review. Correct")


def test_the_same_answer_again_settles_again_and_changes_nothing(scenario):
    scenario.waiting()
    scenario.decide()
    before = scenario.now
    scenario.workflows.waiting.add("token")
    scenario.workflows.settled.clear()
    assert scenario.decide().done
    assert scenario.now == before
    assert "token" in scenario.workflows.settled


def test_there_is_no_review_of_what_does_not_exist(scenario):
    with pytest.raises(NotFound):
        scenario.decide()


def test_while_the_audit_topic_is_down_a_rejection_is_decided_and_nobody_sees_it(scenario):
    scenario.waiting()
    scenario.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        scenario.decide(Answer.REJECT)
    assert (scenario.now.state, scenario.event_publisher.announced, scenario.workflows.settled) == (
        State.AWAITING_REVIEW,
        [],
        {},
    )
    assert "reviewer already rejected this plan" in scenario.decide(Answer.APPROVE, by="maintainer").reason
    scenario.audit.unavailable = False
    assert scenario.decide(Answer.REJECT).done
    assert scenario.now.state is State.REJECTED
    assert scenario.audit.states == ["REJECTED"]


@pytest.mark.parametrize("state", ["review_expired", "engine_fault"])
def test_a_rejection_that_died_on_its_way_stays_one_whatever_ends_the_deployment(scenario, state):
    waiting = scenario.waiting()
    scenario.deployments.save(decided(waiting, Answer.REJECT, "reviewer", LATER))
    assert record_result(scenario.ports, RecordResult(deployment=waiting.id, state=state)).state == "rejected"
    assert scenario.audit.states == ["REJECTED"]
    assert scenario.decide(Answer.REJECT).done
    assert scenario.audit.states == ["REJECTED"]


@pytest.mark.parametrize(("answer", "state"), ANSWERS)
def test_an_answer_whose_function_died_is_carried_out_by_the_next_one_that_asks(scenario, answer, state):
    waiting = scenario.waiting()
    scenario.deployments.save(decided(waiting, answer, "reviewer", LATER))
    again = scenario.decide(answer, by="maintainer", at=utc("2026-03-02T11:00"))
    assert not again.done
    assert "That decision is final" in again.reason
    assert scenario.workflows.settled == {
        "token": {"approved": state is State.APPROVED, "by": "reviewer", "at": timestamp_text(LATER)}
    }
    assert scenario.now.state is state


def test_only_the_plan_that_was_seen_is_approved(scenario):
    seen = scenario.waiting().planned.plan.file.sha256
    assert not scenario.decide(seen="0" * 64).done
    assert scenario.now.state is State.AWAITING_REVIEW
    assert scenario.decide(seen=seen).done


@pytest.mark.parametrize(("answer", "state"), ANSWERS)
def test_a_reason_is_kept_on_one_line_and_told_in_the_timeline_and_the_answer(scenario, answer, state):
    scenario.waiting()
    decision = scenario.decide(answer, reason=" the vendor\n\x1b[31mmoved it ")
    assert scenario.now.review.reason == "the vendor moved it"
    assert "the vendor moved it" in scenario.now.history[-1].reason
    assert decision.reason.endswith("the plan: the vendor moved it.")


def test_the_reasons_of_all_who_approved_and_of_who_rejected_are_audited(scenario):
    scenario.waiting(review_rule=ReviewRule(approvals=2))
    first = scenario.decide(by="first", reason="Looks fine!")
    assert first.reason == "first approved the plan: Looks fine! 1 more approval is needed."
    scenario.decide(Answer.REJECT, by="second", reason="x" * 600)
    (message,) = scenario.audit.published
    assert [each["reason"] for each in message.body["approvals"]] == ["Looks fine!"]
    assert message.body["reason"].startswith("second rejected the plan: xxx")
    assert len(scenario.now.review.reason) == MAXIMUM_REASON


def test_what_a_protected_stack_would_lose_is_approved_explicitly(scenario):
    scenario.waiting(review_rule=ReviewRule(protected=True))
    refused = scenario.decide()
    assert not refused.done
    assert "this plan destroys 1 resource." in refused.reason
    assert scenario.now.state is State.AWAITING_REVIEW
    assert scenario.decide(destroys=True).done
    assert scenario.now.state is State.APPROVED
    assert scenario.decide().done  # The same answer, delivered again.


def test_a_rejection_in_a_protected_stack_is_not_asked_about(scenario):
    scenario.waiting(review_rule=ReviewRule(protected=True))
    assert scenario.decide(Answer.REJECT).done

from __future__ import annotations

import pytest

from tests.builders import NOW, any_deployment, deployment_in
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.reviews.decide_review import decide_review
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


class ReviewedWorld(World):
    """A world with a deployment that waits for its review."""

    def waiting(self, **fields):
        deployment = self.put(deployment_in(State.AWAITING_REVIEW, **fields))
        self.deployments.keep_review_token(deployment.id, deployment.review.id, "token")
        self.workflows.waiting.add("token")
        return deployment

    def decide(self, answer=Answer.APPROVE, by="reviewer", at=LATER, deployments=None, seen=None):
        ports = changed(self.ports, deployments=deployments or self.deployments)
        return decide_review(ports, any_deployment().id, answer, by, at, seen)

    @property
    def now(self):
        return self.deployments.get(any_deployment().id)


@pytest.fixture
def world():
    return ReviewedWorld()


@pytest.mark.parametrize(("answer", "state"), ANSWERS)
def test_an_answer_decides_settles_and_is_announced(world, answer, state):
    world.waiting()
    assert world.decide(answer).done
    assert (world.now.state, world.now.review.by, world.now.review.at) == (state, "reviewer", LATER)
    assert world.workflows.settled == {
        "token": {"approved": state is State.APPROVED, "by": "reviewer", "at": timestamp_text(LATER)}
    }
    assert world.states() == [state]
    assert world.event_publisher.lines == [any_deployment().queue]


@pytest.mark.parametrize("answer", Answer)
def test_a_plan_whose_text_was_altered_can_only_be_rejected(world, answer):
    approves = answer is Answer.APPROVE
    waiting = world.waiting()
    world.artifacts.put(waiting.planned.plan.text.key, b"No changes.")
    decision = world.decide(answer)
    assert decision.done is not approves
    assert ("was modified after" in decision.reason) is approves
    assert world.now.state is (State.AWAITING_REVIEW if approves else State.REJECTED)


@pytest.mark.parametrize("answer", Answer)
def test_a_plan_whose_commit_was_forced_off_its_branch_can_only_be_rejected(world, answer):
    waiting = world.waiting()
    world.forge.comparisons[waiting.revision.sha, "main"] = Comparison.DIVERGED
    decision = world.decide(answer)
    assert decision.done is (answer is Answer.REJECT)
    assert ("force push" in decision.reason) is (answer is Answer.APPROVE)


@pytest.mark.parametrize("expired", ["the text", "the plan"])
def test_a_plan_whose_text_has_expired_can_be_confirmed(world, expired):
    world.waiting(**({"plan": None} if expired == "the plan" else {}))
    world.artifacts.objects.clear()
    assert world.decide().done


def test_a_rejection_is_audited_and_an_approval_is_part_of_the_applies_message(world):
    world.waiting()
    world.decide(Answer.REJECT)
    (message,) = world.audit.published
    assert (message.state, message.body["rejected_by"], message.body["approved_by"]) == ("REJECTED", "reviewer", None)
    assert [audited.event for audited in world.now.audited] == [message.event]


def test_an_approval_alone_is_not_audited(world):
    world.waiting()
    world.decide()
    assert world.audit.published == []


def test_one_of_two_approvals_is_shown_and_settles_nothing(world):
    world.waiting(review_rule=ReviewRule(approvals=2))
    first = world.decide(by="first")
    assert (first.done, first.reason) == (True, "first confirmed the plan. 1 more approval is needed.")
    assert world.workflows.settled == {}
    assert [approval.by for approval in world.event_publisher.announced[-1].review.approvals] == ["first"]
    assert world.decide(by="second").done
    assert world.now.state is State.APPROVED
    assert world.workflows.settled["token"]["by"] == "second"


def test_two_who_confirm_at_the_same_moment_both_count(world):
    world.waiting(review_rule=ReviewRule(approvals=2))

    class ConfirmedMeanwhile:
        def __init__(self):
            self.meanwhile = [lambda: world.decide(by="first", at=NOW)]
            self.get, self.review_token = world.deployments.get, world.deployments.review_token

        def save(self, deployment):
            while self.meanwhile:
                self.meanwhile.pop()()
            return world.deployments.save(deployment)

    assert world.decide(by="second", deployments=ConfirmedMeanwhile()).done
    assert [approval.by for approval in world.now.review.approvals] == ["first", "second"]
    assert world.now.state is State.APPROVED


def test_who_is_not_allowed_hears_why_and_changes_nothing(world):
    before = world.waiting(review_rule=ReviewRule(exclude_authors=True), authors=("developer",))
    refused = world.decide(by="developer")
    assert not refused.done
    assert "developer" in refused.reason
    assert world.now == before
    assert world.event_publisher.announced == []


def test_who_answers_for_what_failed_hears_what_to_do_next(world):
    world.put(deployment_in(State.PLAN_FAILED))
    decision = world.decide(Answer.REJECT)
    assert not decision.done
    assert decision.reason.startswith("This deployment has ended (plan failed) and does not wait for a review. Correct")


def test_the_same_answer_again_settles_again_and_changes_nothing(world):
    world.waiting()
    world.decide()
    before = world.now
    world.workflows.waiting.add("token")
    world.workflows.settled.clear()
    assert world.decide().done
    assert world.now == before
    assert "token" in world.workflows.settled


def test_there_is_no_review_of_what_does_not_exist(world):
    with pytest.raises(NotFound):
        world.decide()


def test_while_the_audit_topic_is_down_a_rejection_is_decided_and_nobody_sees_it(world):
    world.waiting()
    world.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        world.decide(Answer.REJECT)
    assert (world.now.state, world.event_publisher.announced, world.workflows.settled) == (
        State.AWAITING_REVIEW,
        [],
        {},
    )
    assert "reviewer already rejected this plan" in world.decide(Answer.APPROVE, by="maintainer").reason
    world.audit.unavailable = False
    assert world.decide(Answer.REJECT).done
    assert world.now.state is State.REJECTED
    assert world.audit.states == ["REJECTED"]


@pytest.mark.parametrize("state", ["review_expired", "engine_fault"])
def test_a_rejection_that_died_on_its_way_stays_one_whatever_ends_the_deployment(world, state):
    waiting = world.waiting()
    world.deployments.save(decided(waiting, Answer.REJECT, "reviewer", LATER))
    assert record_result(world.ports, RecordResult(deployment=waiting.id, state=state)).state == "rejected"
    assert world.audit.states == ["REJECTED"]
    assert world.decide(Answer.REJECT).done
    assert world.audit.states == ["REJECTED"]


@pytest.mark.parametrize(("answer", "state"), ANSWERS)
def test_an_answer_whose_function_died_is_carried_out_by_the_next_one_that_asks(world, answer, state):
    waiting = world.waiting()
    world.deployments.save(decided(waiting, answer, "reviewer", LATER))
    again = world.decide(answer, by="maintainer", at=utc("2026-03-02T11:00"))
    assert not again.done
    assert "That decision is final" in again.reason
    assert world.workflows.settled == {
        "token": {"approved": state is State.APPROVED, "by": "reviewer", "at": timestamp_text(LATER)}
    }
    assert world.now.state is state


def test_only_the_plan_that_was_seen_is_confirmed(world):
    seen = world.waiting().planned.plan.file.sha256
    assert not world.decide(seen="0" * 64).done
    assert world.now.state is State.AWAITING_REVIEW
    assert world.decide(seen=seen).done

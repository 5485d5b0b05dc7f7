"""A deployment waits for what its root requires, goes on once it is there, and people decide about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, amended
from tests.instants import utc
from tests.unit.gates.requirements_scenario import AT, ONE, Waiting
from tidegate.deploys.rules.freeze import LONGEST_FREEZE_DAYS, MissingBeforeApply
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.requirements_gate import expires_at, gate_id, looked_at
from tidegate.deploys.rules.review import REVIEW_DAYS
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Approval, Gate
from tidegate.gates.wait_for_requirements import check_all_requirements, check_requirements
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, Severity
from tidegate.policies.rules.requirements import Requirements
from tidegate.pull_requests.rules.withdrawal import is_waiting_for_people, may_be_withdrawn
from tidegate.reconciler.recheck_requirements import recheck_requirements
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import CloudUnavailable, GateBlocked, NotFound, RequirementsMissing, WrongState
from tidegate.rules.timestamp import timestamp_text


@pytest.fixture
def scenario():
    return Waiting()


@pytest.fixture
def waiting(scenario):
    with pytest.raises(RequirementsMissing):
        scenario.begin()
    scenario.wait()
    return scenario


def test_an_apply_whose_requirements_are_not_met_does_not_begin_and_says_what_is_missing(scenario):
    with pytest.raises(RequirementsMissing):
        scenario.begin()
    assert scenario.now.state is State.AWAITING_REQUIREMENTS
    assert "was pushed directly" in scenario.now.requirements.missing[0]
    assert (scenario.audit.published, scenario.now.apply.job) == ([], None)
    with pytest.raises(RequirementsMissing):  # The call comes again.
        scenario.begin()


def test_it_waits_with_its_token_until_somebody_asked_approves_and_is_then_applied(waiting):
    assert waiting.settled == []
    decision = waiting.decide(GateAnswer.APPROVE, reason="as agreed")
    assert (decision.done, waiting.settled) == (True, ["apply"])
    assert decision.reason == "ann approved this deployment: as agreed."
    waiting.begin()
    assert (waiting.now.state, waiting.now.requirements.missing, waiting.now.gate) == (State.APPLYING, (), None)
    (message,) = waiting.audit.published
    assert message.body["approved_here"] == [{"by": "ann", "at": timestamp_text(AT), "reason": "as agreed"}]


def test_an_approval_that_is_delivered_twice_counts_once_and_settles_again(waiting):
    waiting.decide(GateAnswer.APPROVE)
    assert waiting.decide(GateAnswer.APPROVE).done
    assert waiting.now.requirements.approved_here == (Approval("ann", AT),)


@pytest.mark.parametrize(
    ("by", "why"), [("author", "pushed or merged this"), ("eve", "team:sre"), ("reviewer", "team:sre")]
)
def test_who_made_it_or_is_not_asked_cannot_approve(waiting, by, why):
    decision = waiting.decide(GateAnswer.APPROVE, by)
    assert not decision.done
    assert why in decision.reason


def test_who_approved_cannot_do_so_twice_and_more_may_be_missing(waiting):
    waiting.deployments.save(amended(waiting.now, requires=(replace(ONE, approvals=2),)))
    assert "Other requirements are still missing" in waiting.decide(GateAnswer.APPROVE).reason
    assert "already" in waiting.decide(GateAnswer.APPROVE, "ANN", "later").reason
    assert waiting.settled == []


def test_an_owner_of_what_refuses_the_plan_approves_it_here_and_others_do_not(waiting):
    denied = PolicyVerdict("words", (PolicyFinding(Severity.DENY, "main.deny", "It is public."),))
    words = PolicySetStatus("words", owners=("user:ann",))
    refused = {"requires": (), "policy_sets": (words,), "verdicts": (denied,)}
    waiting.deployments.save(amended(waiting.now, **refused))
    assert "user:ann" in waiting.decide(GateAnswer.APPROVE, "reviewer").reason
    assert waiting.settled == []
    waiting.decide(GateAnswer.APPROVE)
    assert waiting.settled == ["apply"]


def test_nobody_approves_where_only_checks_are_required_or_somebody_who_may_write_is(waiting):
    waiting.deployments.save(amended(waiting.now, requires=(Requirements(checks=True),)))
    assert "No approvals are required" in waiting.decide(GateAnswer.APPROVE).reason
    waiting.deployments.save(amended(waiting.now, requires=(Requirements(approvals=1),)))
    assert "people with write access" in waiting.decide(GateAnswer.APPROVE, "outsider").reason


def test_an_operator_overrides_with_a_reason_that_the_audit_topic_hears_first(waiting):
    assert not waiting.decide(GateAnswer.OVERRIDE, "operator", reason="  ").done
    assert not waiting.decide(GateAnswer.OVERRIDE, "operator", reason="x" * 501).done
    waiting.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        waiting.decide(GateAnswer.OVERRIDE, "operator", reason="an outage")
    assert waiting.now.requirements.override is None
    waiting.audit.unavailable = False
    for _ in range(2):
        assert waiting.decide(GateAnswer.OVERRIDE, "operator", reason="an outage").done
    (message,) = waiting.audit.published
    assert message.state == "OVERRIDDEN"
    assert message.body["override"] == {"by": "operator", "at": timestamp_text(AT), "reason": "an outage"}
    assert message.body["missing"]
    waiting.begin()
    assert waiting.now.state is State.APPLYING


def test_who_rejects_it_ends_it(waiting):
    for _ in range(2):
        assert waiting.decide(GateAnswer.REJECT, "eve").done
    assert waiting.settled[0] == "rejected"
    assert (waiting.now.outcome.ending.state, waiting.now.rejected_by) == (State.REJECTED, "eve")
    assert "eve already rejected" in waiting.decide(GateAnswer.REJECT, "ann", "later").reason
    assert "eve already rejected" in waiting.decide(GateAnswer.APPROVE).reason


def test_what_goes_on_or_does_not_wait_has_nothing_to_decide(waiting):
    waiting.decide(GateAnswer.APPROVE)
    assert "continues automatically" in waiting.decide(GateAnswer.REJECT, "eve").reason
    waiting.begin()
    assert "applying" in waiting.decide(GateAnswer.OVERRIDE, "operator", reason="x").reason


def test_what_is_withdrawn_can_only_be_rejected(waiting):
    assert may_be_withdrawn(waiting.now)
    waiting.deployments.save(amended(waiting.now, withdrawn="#5 was closed."))
    assert not may_be_withdrawn(waiting.now)
    assert is_waiting_for_people(waiting.now)
    assert "closed" in waiting.decide(GateAnswer.APPROVE).reason
    assert waiting.decide(GateAnswer.REJECT, "tidegate").done
    assert waiting.now.outcome.ending.reason == "#5 was closed."


def test_a_look_lets_it_go_on_once_all_is_there_and_tells_what_else_is_missing_now(waiting):
    assert check_all_requirements(waiting.ports, "acme/infra") == 0
    announced = len(waiting.event_publisher.announced)
    assert not check_requirements(waiting.ports, waiting.id)
    assert len(waiting.event_publisher.announced) == announced  # Nothing is said twice.
    waiting.deployments.save(amended(waiting.now, requires=(Requirements(),)))
    assert check_all_requirements(waiting.ports, "acme/other") == 0
    assert check_all_requirements(waiting.ports, "acme/infra") == 1
    assert waiting.now.gate.next is AfterGate.APPLY
    assert not check_requirements(waiting.ports, waiting.id)


def test_the_reconciler_looks_at_what_waits(waiting):
    waiting.deployments.save(amended(waiting.now, requires=(Requirements(),)))
    turn = ReconcilerPass(waiting.clock, utc("9999-12-31"))
    assert recheck_requirements(waiting.ports, turn) == 1


def test_what_was_fulfilled_before_the_token_came_goes_on_at_once(scenario):
    with pytest.raises(RequirementsMissing):
        scenario.begin()
    scenario.deployments.save(amended(scenario.now, requires=(Requirements(),)))
    scenario.wait()
    assert scenario.settled == ["apply"]


def test_what_has_waited_too_often_for_its_requirements_is_refused(scenario):
    with pytest.raises(RequirementsMissing):
        scenario.begin()
    with pytest.raises(GateBlocked, match="then request it again"):
        scenario.wait(before=7)
    with pytest.raises(NotFound):
        scenario.deployments.gate_token(scenario.id, gate_id(scenario.now))


def test_a_late_copy_of_an_earlier_attempt_does_nothing_and_what_does_not_wait_is_refused(waiting):
    waiting.wait("older", utc("2026-03-01T00:00"))
    assert waiting.deployments.gate_token(waiting.id, gate_id(waiting.now)) == "token"
    waiting.decide(GateAnswer.APPROVE)
    waiting.begin()
    assert not check_requirements(waiting.ports, waiting.id)
    with pytest.raises(WrongState):
        waiting.wait()


def test_a_approved_plan_that_came_back_to_its_gate_is_not_let_through_by_its_requirements(waiting):
    gate = Gate("plan", NOW)
    waiting.deployments.save(replace(waiting.now, state=State.GATED, gate=gate))
    assert looked_at(waiting.now, MissingBeforeApply(), NOW) == waiting.now


def test_the_wait_outlasts_the_longest_freeze_by_a_review_and_each_plan_has_a_gate_of_its_own(waiting):
    gate = waiting.now.gate
    assert expires_at(gate) - gate.since == timedelta(days=LONGEST_FREEZE_DAYS + REVIEW_DAYS)
    assert gate_id(amended(waiting.now, plan=None)) != gate_id(waiting.now)
    with pytest.raises(NotFound):
        waiting.deployments.gate_token(waiting.id, "another")

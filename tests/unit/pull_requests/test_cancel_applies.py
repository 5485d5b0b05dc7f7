"""What is not applied yet of a pull request is cancelled when it is closed without being merged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, amended, any_plan
from tests.instants import utc
from tests.unit.comments.apply_scenario import QUEUE, ApplyScenario
from tests.unit.comments.events_scenario import HEAD, NUMBER
from tidegate.deploys.rules.queue import lock_when_let_in, waiting_for
from tidegate.deploys.rules.review import Answer, Need, check_click, evaluate_plan
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Gate, Review
from tidegate.deploys.texts.presentation import View
from tidegate.deploys.texts.states import presentation_of
from tidegate.pull_requests.cancel_applies import go_on_withdrawing
from tidegate.pull_requests.close_applied import close_applied
from tidegate.pull_requests.rules.record import Applying
from tidegate.reconciler.cancel_withdrawn import cancel_withdrawn
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import Conflict

WHY = f"#{NUMBER} was closed without a merge."


@pytest.fixture
def scenario():
    found = ApplyScenario()
    found.comment("tidegate apply")
    return found


def close(scenario):
    close_applied(scenario.ports, scenario.record, merged=False)
    return newest(scenario)


def newest(scenario):
    (applying,) = scenario.record.applies
    return scenario.deployments.get(applying.deployment)


def let_in(scenario, state=State.PLANNING, **fields):
    """Let the deployment that waits be let in, and go on to a state."""
    head, first = scenario.queues.read(QUEUE)
    waiting = scenario.deployments.get(first.deployment)
    begun = amended(waiting, state=state, **fields)
    after = replace(head, in_flight=begun.id, lock=lock_when_let_in(begun, head.lock, NOW))
    scenario.queues.commit(head, after, take=waiting_for(waiting), deployment=begun)
    return scenario.deployments.get(begun.id)


def reviewed():
    return {"plan": any_plan(), "review": Review("r", NOW)}


def at_gate(**fields):
    return {"plan": any_plan(), "gate": Gate("g", NOW, **fields)}


def test_what_waits_in_line_leaves_it_and_the_comment_and_check_run_say_so(scenario):
    cancelled = close(scenario)
    assert (cancelled.state, cancelled.reason, cancelled.outcome.withdrawn) == (State.REFUSED, WHY, WHY)
    assert scenario.line() == []
    assert scenario.head().lock is None
    assert scenario.event_publisher.announced[-1].id == cancelled.id
    assert "no longer applies this" in scenario.reply
    assert f"- `live/app`, from `{HEAD[:7]}`" in scenario.reply
    face = presentation_of(cancelled, View())
    assert (face.title, face.conclusion) == ("Cancelled: closed without a merge", "cancelled")
    assert "comment `tidegate apply` again" in face.paragraphs[1]


def test_closing_it_once_more_says_nothing_more(scenario):
    close(scenario)
    close(scenario)
    assert len(scenario.forge.comments) == 1


def test_a_plan_that_waits_for_its_review_is_rejected_and_audited(scenario):
    let_in(scenario, State.AWAITING_REVIEW, **reviewed())
    cancelled = close(scenario)
    assert (cancelled.state, cancelled.reason, cancelled.rejected_by) == (State.REJECTED, WHY, "tidegate")
    assert scenario.audit.states == ["REJECTED"]
    assert "no longer applies" in scenario.reply
    face = presentation_of(cancelled, View())
    assert face.title == "Cancelled: closed without a merge"
    assert "Nothing was applied." in face.paragraphs[0]


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED])
def test_what_waits_at_a_gate_is_rejected(scenario, state):
    let_in(scenario, state, **at_gate())
    cancelled = close(scenario)
    assert (cancelled.gate.next, cancelled.gate.by, cancelled.outcome.ending.reason) == (
        AfterGate.REJECTED,
        "tidegate",
        WHY,
    )


@pytest.mark.parametrize(
    ("state", "fields"),
    [
        (State.APPROVED, {"plan": any_plan()}),
        (State.APPLYING, {"plan": any_plan()}),
        (State.GATED, at_gate(next=AfterGate.APPLY)),
        (State.AWAITING_REVIEW, {"plan": any_plan(), "review": Review("r", NOW, approved=True, by="a", at=NOW)}),
    ],
)
def test_what_is_applying_or_about_to_goes_on_and_that_is_said(scenario, state, fields):
    begun = let_in(scenario, state, **fields)
    after = close(scenario)
    assert (after.state, after.outcome.withdrawn, after.version) == (state, "", begun.version)
    assert "but these applies are in progress.**" in scenario.reply


def test_what_is_planned_is_not_applied_unseen_nor_approved_and_ends_at_its_review(scenario):
    let_in(scenario)
    planning = close(scenario)
    assert (planning.state, planning.outcome.withdrawn) == (State.PLANNING, WHY)
    verdict = evaluate_plan(planning, any_plan())
    assert (verdict.next, verdict.reason) == (Need.REVIEW, WHY)
    waiting = scenario.deployments.save(amended(planning, state=State.AWAITING_REVIEW, **reviewed()))
    assert WHY in check_click(waiting, Answer.APPROVE, by="reviewer", at=NOW).reason
    assert cancel_withdrawn(scenario.ports, ReconcilerPass(scenario.clock, utc("2100-01-01"))) == 1
    assert newest(scenario).state is State.REJECTED
    assert cancel_withdrawn(scenario.ports, ReconcilerPass(scenario.clock, utc("2100-01-01"))) == 0


def test_what_comes_to_a_gate_after_it_was_withdrawn_ends_there(scenario):
    let_in(scenario)
    planning = close(scenario)
    scenario.deployments.save(amended(planning, state=State.GATED, **at_gate(next=AfterGate.REVIEW)))
    assert not go_on_withdrawing(scenario.ports, planning.id)
    gated = newest(scenario)
    scenario.deployments.save(replace(gated, gate=Gate("g", NOW)))
    assert go_on_withdrawing(scenario.ports, planning.id)
    assert newest(scenario).gate.next is AfterGate.REJECTED


def test_what_leaves_the_line_meanwhile_is_looked_at_again(scenario):
    commit = scenario.queues.commit

    def claimed_first(*arguments, **more):
        scenario.queues.commit = commit
        let_in(scenario)
        return commit(*arguments, **more)

    scenario.queues.commit = claimed_first
    assert close(scenario).state is State.PLANNING
    assert newest(scenario).outcome.withdrawn == WHY


def test_one_that_ended_or_was_never_stored_is_left_alone(scenario):
    rejected = scenario.end(State.REJECTED)
    record = scenario.record
    scenario.records.save(replace(record, applies=(*record.applies, Applying("live/db", "default", "unknown"))))
    close_applied(scenario.ports, scenario.record, merged=False)
    assert scenario.deployments.get(rejected.id).version == rejected.version
    assert scenario.forge.comments == []
    assert not go_on_withdrawing(scenario.ports, "unknown")


def test_whoever_cannot_write_tries_again(scenario):
    def refused(*_, **__):
        raise Conflict("queue")

    scenario.queues.commit = refused
    with pytest.raises(Conflict):
        close(scenario)


def test_a_merge_cancels_nothing(scenario):
    close_applied(scenario.ports, scenario.record, merged=True)
    assert newest(scenario).outcome.withdrawn == ""

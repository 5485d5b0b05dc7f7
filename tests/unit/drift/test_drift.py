"""What a look for drift found, and what is not drift."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployed, any_drift, any_drift_finding, any_layer, any_lock, any_plan, sha
from tests.instants import utc
from tidegate.config.rules.drift import DriftState, begun, found, why_not_checked
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.roots.rules.root import Revision

LATER = utc("2026-03-03T08:00")
CHANGES = any_plan(changes=PlannedChanges(change=1, destroy=1, destroyed=("a.b",)))


def looked_at(root="network", state=LayerState.PLANNED, **fields):
    plan = CHANGES if state is LayerState.PLANNED else None
    return any_layer(root, state=state, plan=plan, schedule="nightly", pull_request=0, **fields)


@pytest.mark.parametrize(
    ("layer", "state"),
    [
        (LayerState.PLANNED, DriftState.DRIFTED),
        (LayerState.NO_CHANGES, DriftState.NONE),
        (LayerState.REFUSED, DriftState.SKIPPED),
        (LayerState.FAILED, DriftState.FAILED),
        (LayerState.CANCELLED, DriftState.FAILED),
        (LayerState.PLANNING, DriftState.FAILED),
        (LayerState.WAITING, DriftState.FAILED),
    ],
)
def test_a_plan_tells_how_a_root_stands(layer, state):
    (finding,) = found(any_drift(), [looked_at(state=layer)], NOW).findings
    assert finding.state is state


def test_what_was_not_planned_says_so_and_what_failed_says_why():
    layers = [looked_at("a", LayerState.FAILED, reason="no" * 1000), looked_at("b", LayerState.PLANNING, reason="x")]
    first, second = found(any_drift(), layers, NOW).findings
    assert first.reason == "no" * 150
    assert second.reason == "The run ended before Tidegate planned it."


def test_counts_are_kept_without_addresses():
    (finding,) = found(any_drift(), [looked_at()], NOW).findings
    assert finding.changes == PlannedChanges(change=1, destroy=1)


def test_what_drifted_has_drifted_since_it_was_seen_first_until_it_is_gone():
    once = found(any_drift(), [looked_at()], NOW)
    assert found(once, [looked_at()], LATER).findings[0].drifted_since == NOW
    for state in (LayerState.REFUSED, LayerState.FAILED):
        not_known = found(once, [looked_at(state=state)], LATER)
        assert [each.drifted_since for each in not_known.drifted] == [NOW]
        assert found(not_known, [looked_at()], LATER).findings[0].drifted_since == NOW
    gone = found(once, [looked_at(state=LayerState.NO_CHANGES)], LATER)
    assert gone.drifted == ()
    assert found(gone, [looked_at()], LATER).findings[0].drifted_since == LATER


def test_the_deployment_that_undoes_drift_is_remembered_as_long_as_it_lasts():
    record = any_drift(findings=(any_drift_finding(deployment="d"),))
    assert found(record, [looked_at()], LATER).findings[0].deployment == "d"
    assert found(record, [looked_at(state=LayerState.NO_CHANGES)], LATER).findings[0].deployment == ""


def test_a_root_in_several_stacks_has_a_finding_for_each():
    layers = [looked_at(stack="dev", shared=True), looked_at(stack="prod", shared=True, state=LayerState.NO_CHANGES)]
    record = found(any_drift(findings=(any_drift_finding(stack="prod"),)), layers, LATER)
    assert [(each.label, each.drifted_since) for each in record.findings] == [
        ("network (dev)", LATER),
        ("network (prod)", None),
    ]


def test_what_needs_people_comes_first_and_is_counted_so():
    layers = [
        looked_at("a", LayerState.NO_CHANGES),
        looked_at("b", LayerState.REFUSED),
        looked_at("c"),
        looked_at("d", LayerState.FAILED),
    ]
    record = found(any_drift(), layers, NOW)
    assert [each.root for each in record.findings] == ["d", "c", "b", "a"]
    assert record.summary == "1 failed, 1 drifted, 1 not checked, 1 without drift"
    assert record.needs_people
    assert not found(any_drift(), layers[:2], NOW).needs_people
    assert found(any_drift(), (), NOW).summary == "no roots"


def test_a_run_that_begins_remembers_the_plans_of_earlier_ones():
    first = replace(begun(any_drift(), "one", NOW), layers=("a", "b"))
    second = begun(first, "two", LATER)
    assert (second.execution, second.started_at, second.layers) == ("two", LATER, ())
    assert begun(replace(second, layers=("c",)), "three", LATER).former == ("a", "b", "c")


def test_nothing_keeps_a_quiet_root_from_being_looked_at():
    assert why_not_checked(None) == ""
    assert why_not_checked(QueueHead("q")) == ""
    done = any_deployed(1, state=State.APPLIED)
    assert why_not_checked(QueueHead("q", deployed=done, attempted=done)) == ""


def test_a_root_whose_queue_is_busy_is_left_alone():
    assert "in progress" in why_not_checked(QueueHead("q", in_flight="d"))
    assert "The root has a deployment in" in why_not_checked(QueueHead("q", length=1))
    assert "locked by" in why_not_checked(QueueHead("q", lock=any_lock()))


def test_what_a_newer_deployment_left_undone_is_not_taken_for_drift():
    applied, rejected = any_deployed(1, state=State.APPLIED), any_deployed(2, state=State.REJECTED)
    rejected = replace(rejected, revision=Revision(sha(2), "main"))
    assert "did not complete (rejected)" in why_not_checked(QueueHead("q", deployed=applied, attempted=rejected))
    assert "did not complete (rejected)" in why_not_checked(QueueHead("q", attempted=rejected))
    failed = replace(rejected, state=State.PLAN_FAILED)
    assert why_not_checked(QueueHead("q", attempted=failed)) == (
        f"Its newest deployment, of {sha(2)[:7]}, did not complete (plan failed). The difference may be what that "
        "deployment left undone."
    )
    again = replace(rejected, revision=applied.revision)
    assert why_not_checked(QueueHead("q", deployed=applied, attempted=again)) == ""


def test_what_was_to_undo_drift_and_did_not_left_the_drift():
    applied, rejected = any_deployed(1, state=State.APPLIED), any_deployed(2, state=State.REJECTED)
    rejected = replace(rejected, revision=Revision(sha(2), "main"), trigger=Trigger.DRIFT)
    assert why_not_checked(QueueHead("q", deployed=applied, attempted=rejected)) == ""

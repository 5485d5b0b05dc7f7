"""What a page says of an action right after it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_drift, deployment_in
from tidegate.changes.rules.wave import Wave, WaveDecision, WaveRules
from tidegate.deploys.rules.outcome import Cancellation
from tidegate.deploys.rules.review import Answer, decided
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Approval, Gate, Override
from tidegate.drift.get_drift import DriftView
from tidegate.gates.get_change import ChangeView, WaveView
from tidegate.web.notices import change_notice, deployment_notice, drift_notice, lock_notice

WAITING = deployment_in(State.AWAITING_REVIEW)
LACKS = deployment_in(State.AWAITING_REQUIREMENTS)
BY = {
    "approve": decided(WAITING, Answer.APPROVE, "reviewer", NOW),
    "reject": decided(WAITING, Answer.REJECT, "reviewer", NOW),
    "gate-rejected": replace(LACKS, gate=Gate("gate", NOW, next=AfterGate.REJECTED, by="reviewer", at=NOW)),
    "approved-here": replace(
        LACKS, requirements=replace(LACKS.requirements, approved_here=(Approval("reviewer", NOW),))
    ),
    "overridden": replace(LACKS, requirements=replace(LACKS.requirements, override=Override("reviewer", NOW, "Now."))),
    "cancelled": replace(WAITING, outcome=replace(WAITING.outcome, cancelled=Cancellation("reviewer", NOW))),
}


@pytest.mark.parametrize("done", BY)
def test_who_did_it_is_told_and_nobody_else(done):
    assert deployment_notice(BY[done], done, "reviewer")
    assert not deployment_notice(BY[done], done, "maintainer")


def test_a_retry_is_told_while_it_waits():
    assert deployment_notice(deployment_in(State.BLOCKED), "retried", "reviewer")
    assert not deployment_notice(deployment_in(State.APPLIED), "retried", "reviewer")


@pytest.mark.parametrize(("done", "locked"), [("locked", True), ("unlocked", False), ("not-locked", False)])
def test_a_lock_is_told_as_it_is(done, locked):
    assert lock_notice(done, locked=locked)
    assert not lock_notice(done, locked=not locked)


@pytest.mark.parametrize("done", ["stopped", "continued"])
def test_who_decided_about_a_stack_is_told_and_nobody_else(done):
    wave = Wave("c-1", "dev", **{done: WaveDecision("reviewer", NOW)})
    view = ChangeView("c-1", (WAITING,), waves={"dev": WaveView(WaveRules(1), wave)})
    assert change_notice(view, done, "reviewer")
    assert not change_notice(view, done, "maintainer")
    assert not change_notice(ChangeView("c-1", (WAITING,)), done, "reviewer")


@pytest.mark.parametrize("done", ["started", "already-running"])
def test_drift_detection_is_told_while_it_runs(done):
    idle = DriftView(any_drift(), {})
    assert drift_notice([replace(idle, record=any_drift(execution="run"))], done)
    assert not drift_notice([idle], done)

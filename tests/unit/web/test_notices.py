"""What a page says of an action right after it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, deployment_in
from tidegate.deploys.rules.outcome import Cancellation
from tidegate.deploys.rules.review import Answer, decided
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Approval, Gate, Override
from tidegate.web.notices import deployment_notice, lock_notice

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

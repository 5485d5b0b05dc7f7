"""Which deployments need a concurrency slot, how many may wait, and what is said of who waits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, deployment_in
from tests.stepfunctions.machines import MACHINES
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.plan_slots import SlotUsage
from tidegate.deploys.rules.slots import (
    INSTALLATION,
    MOST_WAITING,
    SLOT_WAIT_HOURS,
    job_without_result,
    may_wait,
    needs_slot,
    slot_wait,
)
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.waiting import AfterGate, Gate

#: What DynamoDB allows an item to have, and what is left free.
ITEM_BYTES = 400_000 * 9 // 10


@pytest.mark.parametrize("state", [state for state in State if is_final(state)])
def test_what_has_ended_needs_no_slot(state):
    assert not needs_slot(deployment_in(state))


@pytest.mark.parametrize("state", [State.QUEUED, State.PLANNING, State.APPROVED, State.APPLYING])
def test_what_runs_a_job_or_is_to_begin_one_needs_a_slot(state):
    assert needs_slot(deployment_in(state, plan=None))
    cancelled = Ending(State.CANCELLED, "", "", "", NOW)
    assert not needs_slot(deployment_in(state, plan=None, ending=cancelled))


def test_what_ended_without_its_runners_result_names_the_job_whose_runner_may_go_on():
    made = deployment_in(State.APPROVED).planned.plan
    lost = deployment_in(State.OUTCOME_UNKNOWN, apply_job="apply", plan_job="plan")
    assert job_without_result(lost) == "apply"
    assert job_without_result(deployment_in(State.ENGINE_FAULT, plan=None, plan_job="plan")) == "plan"
    assert job_without_result(deployment_in(State.ENGINE_FAULT, plan=made, plan_job="plan", apply_job=None)) is None
    assert job_without_result(deployment_in(State.APPLIED, apply_job="apply")) is None


def test_a_plan_that_is_made_needs_none():
    assert not needs_slot(deployment_in(State.PLANNING, plan=deployment_in(State.APPROVED).planned.plan))
    assert not needs_slot(deployment_in(State.AWAITING_REVIEW))


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED])
def test_a_gate_needs_one_once_it_lets_a_job_begin(state):
    for next_ in (None, AfterGate.REVIEW, AfterGate.REJECTED, AfterGate.SUPERSEDED):
        assert not needs_slot(deployment_in(state, gate=Gate("gate", NOW, next=next_)))
    for next_ in (AfterGate.PLAN, AfterGate.PLAN_AGAIN, AfterGate.APPLY):
        assert needs_slot(deployment_in(state, gate=Gate("gate", NOW, next=next_)))
    assert not needs_slot(deployment_in(state, gate=None))


def test_requirements_need_one_once_they_are_met():
    waiting = deployment_in(State.AWAITING_REQUIREMENTS, gate=Gate("gate", NOW))
    assert not needs_slot(waiting)
    assert needs_slot(replace(waiting, gate=Gate("gate", NOW, next=AfterGate.APPLY)))


def test_a_move_to_another_state_ends_the_wait():
    waiting = deployment_in(State.APPROVED, slot_since=NOW)
    assert waiting.moved(State.APPLYING, NOW).slot_since is None


def test_what_is_said_has_the_position_and_how_many_are_busy():
    places = SlotUsage(INSTALLATION, ("a", "b"), ("c", "d"))
    wait = slot_wait(places, "d", NOW, 2)
    assert (wait.since, wait.position) == (NOW, 2)
    assert str(wait) == "Waiting for a concurrency slot: 2 of 2 runners are busy, position 2"
    assert str(slot_wait(places, "a", NOW, 2)) == "A concurrency slot is free: the runner starts in a moment"


def test_so_many_may_wait_that_their_item_fits():
    longest = "i" * 64
    line = tuple(f"{number:064}" for number in range(MOST_WAITING))
    full = SlotUsage(INSTALLATION, tuple(f"h{number:063}" for number in range(999)), line)
    assert (len(full.held) + len(full.line)) * (len(longest) + len("0|") + 2) < ITEM_BYTES
    assert not may_wait(full, "one more")
    assert may_wait(full, line[0])
    assert may_wait(full, full.held[0])
    assert may_wait(replace(full, line=line[1:]), "one more")


def test_the_machine_waits_so_long():
    (terraform,) = [machine for machine in MACHINES if machine.name == "terraform"]
    assert terraform.states["Wait for a concurrency slot"]["TimeoutSeconds"] == SLOT_WAIT_HOURS * 3600

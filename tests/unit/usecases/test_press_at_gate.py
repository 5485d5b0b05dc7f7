"""Buttons of a deployment that waits at its gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.usecases.press_world import GateWorld, PressedWorld
from tidegate.deploys.rules.state import State
from tidegate.rules.access import Access
from tidegate.vcs.rules.check_run import Button


def test_retry_runs_again_what_blocks_a_deployment():
    world = GateWorld()
    assert [action.button for action in world.shown.actions] == [Button.RETRY, Button.REJECT]
    assert world.press(Button.RETRY) == "retried"
    (again,) = world.deployments.many(world.waiting).values()
    assert (again.rerun.of, again.request.by) == (world.failed.id, "reviewer")
    assert world.now.state is State.BLOCKED


def test_the_same_retry_delivered_twice_runs_it_again_once():
    world = GateWorld()
    world.press(Button.RETRY)
    assert world.press(Button.RETRY) == "retried"
    assert len(world.waiting) == 1


@pytest.mark.parametrize("state", [State.BLOCKED, State.GATED])
def test_reject_ends_a_deployment_at_its_gate(state):
    world = GateWorld(state)
    assert world.press(Button.REJECT) == "rejected"
    assert world.now.rejected_by == "reviewer"
    assert world.workflows.settled == {"gate": {"next": "rejected"}}


def test_approve_is_for_whom_the_root_requires_and_reject_for_who_may_decide():
    world = PressedWorld(State.AWAITING_REQUIREMENTS, requested_by="author")
    assert [action.button for action in world.shown.actions] == [Button.APPROVE, Button.REJECT]
    world.forge.came_with[world.deployment.revision.sha] = ()
    assert "outsider is not among them" in world.press(Button.APPROVE, "outsider")
    assert world.press(Button.APPROVE) == "approved"
    assert "continues automatically" in world.press(Button.REJECT)


def test_the_same_rejection_delivered_once_more_has_an_effect_also_when_it_is_rejected_by_then():
    world = GateWorld()
    world.press(Button.REJECT)
    world.deployments.save(world.now.ended(world.now.outcome.ending))
    assert world.press(Button.REJECT) == "rejected"
    world.publish()
    assert "no effect" not in world.shown.summary


def test_a_second_decision_at_a_gate_hears_of_the_first():
    world = GateWorld()
    world.press(Button.REJECT)
    assert world.press(Button.RETRY, by="maintainer").startswith("refused")
    assert "reviewer already rejected this deployment" in world.shown.summary
    assert world.waiting == []


def test_a_retry_where_nothing_is_blocked_says_so():
    world = PressedWorld()
    assert "and does not wait for dependencies" in world.press(Button.RETRY)
    assert "and does not wait for dependencies" in world.shown.summary


@pytest.mark.parametrize(("by", "answer"), [("maintainer", "retried"), ("reviewer", "refused: Only user:maintainer")])
def test_who_retries_is_whom_access_control_lets_deploy(by, answer):
    world = GateWorld(access=Access(apply=("user:maintainer",)))
    assert world.press(Button.RETRY, by=by).startswith(answer)


@pytest.mark.parametrize("button", [Button.RETRY, Button.REJECT])
def test_a_press_at_a_gate_on_an_outdated_check_run_points_to_the_newest(button):
    world = GateWorld()
    world.check_runs.remember(replace(world.check_runs.published(world.deployment.id), id=2))
    assert world.press(button) == "refused: outdated"
    assert (world.waiting, world.now.rejected_by) == ([], None)
    assert "This check is outdated: the newer one counts" in world.shown.summary
    assert "https://github.com/acme/infra/runs/2" in world.shown.summary

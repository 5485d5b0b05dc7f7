"""Buttons of a deployment that waits at its gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW
from tests.unit.requests.buttons import GateScenario, PressedScenario
from tidegate.deploys.rules.state import State
from tidegate.rules.access import Access
from tidegate.vcs.rules.check_run import Button


def test_retry_runs_again_what_blocks_a_deployment():
    scenario = GateScenario()
    assert [action.button for action in scenario.shown.actions] == [Button.RETRY, Button.REJECT]
    assert scenario.click(Button.RETRY) == "retried"
    (again,) = scenario.deployments.many(scenario.waiting).values()
    assert (again.rerun.of, again.request.by) == (scenario.failed.id, "reviewer")
    assert scenario.now.state is State.BLOCKED


def test_the_same_retry_delivered_twice_runs_it_again_once():
    scenario = GateScenario()
    scenario.click(Button.RETRY)
    assert scenario.click(Button.RETRY) == "retried"
    assert len(scenario.waiting) == 1


@pytest.mark.parametrize("state", [State.BLOCKED, State.GATED])
def test_reject_ends_a_deployment_at_its_gate(state):
    scenario = GateScenario(state)
    assert scenario.click(Button.REJECT) == "rejected"
    assert scenario.now.rejected_by == "reviewer"
    assert scenario.workflows.settled == {"gate": {"next": "rejected"}}


def test_approve_is_for_whom_the_root_requires_and_reject_for_who_may_decide():
    scenario = PressedScenario(State.AWAITING_REQUIREMENTS, requested_by="author")
    assert [action.button for action in scenario.shown.actions] == [Button.APPROVE, Button.REJECT]
    scenario.forge.came_with[scenario.deployment.revision.sha] = ()
    assert "outsider is not among them" in scenario.click(Button.APPROVE, "outsider")
    assert scenario.click(Button.APPROVE) == "approved"
    assert "continues automatically" in scenario.click(Button.REJECT)


def test_an_approval_of_requirements_delivered_once_more_settles_again_also_when_it_waits_no_more():
    scenario = PressedScenario(State.AWAITING_REQUIREMENTS, requested_by="author")
    scenario.forge.came_with[scenario.deployment.revision.sha] = ()
    scenario.click(Button.APPROVE)
    scenario.deployments.save(scenario.now.moved(State.APPROVED, NOW))
    assert scenario.click(Button.APPROVE) == "approved"


def test_an_approval_of_requirements_on_an_outdated_check_run_is_sent_to_the_newer_one():
    scenario = PressedScenario(State.AWAITING_REQUIREMENTS)
    scenario.check_runs.remember(replace(scenario.check_runs.published(scenario.deployment.id), id=2))
    assert scenario.click(Button.APPROVE) == "refused: outdated"


def test_the_same_rejection_delivered_once_more_has_an_effect_also_when_it_is_rejected_by_then():
    scenario = GateScenario()
    scenario.click(Button.REJECT)
    scenario.deployments.save(scenario.now.ended(scenario.now.outcome.ending))
    assert scenario.click(Button.REJECT) == "rejected"
    scenario.publish()
    assert "no effect" not in scenario.shown.summary


def test_a_second_decision_at_a_gate_hears_of_the_first():
    scenario = GateScenario()
    scenario.click(Button.REJECT)
    assert scenario.click(Button.RETRY, by="maintainer").startswith("refused")
    assert "reviewer already rejected this deployment" in scenario.shown.summary
    assert scenario.waiting == []


def test_a_retry_where_nothing_is_blocked_says_so():
    scenario = PressedScenario()
    assert "and does not wait for dependencies" in scenario.click(Button.RETRY)
    assert "and does not wait for dependencies" in scenario.shown.summary


@pytest.mark.parametrize(("by", "answer"), [("maintainer", "retried"), ("reviewer", "refused: Only user:maintainer")])
def test_who_retries_is_whom_access_control_lets_deploy(by, answer):
    scenario = GateScenario(access=Access(apply=("user:maintainer",)))
    assert scenario.click(Button.RETRY, by=by).startswith(answer)


@pytest.mark.parametrize("button", [Button.RETRY, Button.REJECT])
def test_a_press_at_a_gate_on_an_outdated_check_run_points_to_the_newest(button):
    scenario = GateScenario()
    scenario.check_runs.remember(replace(scenario.check_runs.published(scenario.deployment.id), id=2))
    assert scenario.click(button) == "refused: outdated"
    assert (scenario.waiting, scenario.now.rejected_by) == ([], None)
    assert "This check is outdated" in scenario.shown.summary
    assert "https://github.com/acme/infra/runs/2" in scenario.shown.summary

"""What blocks a deployment runs again under what the default branch grants and demands now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.instants import utc
from tests.unit.gates.gate_scenario import GateScenario
from tests.unit.gates.retries import STACKS
from tidegate.deploys.rules.state import State
from tidegate.gates.decide_gate import retry_gate
from tidegate.gates.retry_blocked import RETRY, retry_blocked
from tidegate.ports import Delivery

AT = utc("2026-03-02T10:00")
ONLY = "access_control: {{policies: [{{tag_query: '', apply: ['user:{}']}}]}}\n"
APPROVED = "apply_requirements: {checks: [{tag_query: 'dir:app', approved: {enabled: true}}]}\n"
WITHOUT_APP = "stacks: {names: {dev: {tag_query: 'not dir:app'}, prod: {tag_query: 'dir:app'}}}\n"


@pytest.fixture
def scenario():
    return GateScenario()


def _again(scenario, old):
    return [each for each in scenario.deployments.all() if each.rerun.of == old.id]


def test_access_and_policies_are_those_of_now(scenario):
    failed = scenario.member("app", "dev", State.APPLY_FAILED, access=None)
    blocked = scenario.waits(scenario.planned("web"))
    scenario.branch.file = STACKS + ONLY.format("maintainer") + APPROVED
    assert retry_gate(scenario.ports, blocked.id, "maintainer", AT).done
    (again,) = _again(scenario, failed)
    assert again.settings.access.apply == ("user:maintainer",)
    assert [each.approvals for each in again.settings.requires] == [1]


def test_who_may_not_apply_any_more_runs_nothing_again_and_the_check_run_says_so(scenario):
    failed = scenario.member("app", "dev", State.APPLY_FAILED)
    blocked = scenario.waits(scenario.planned("web"))
    scenario.branch.file = STACKS + ONLY.format("ann")
    retry_gate(scenario.ports, blocked.id, "maintainer", AT)
    assert _again(scenario, failed) == []
    ((deployment, why),) = scenario.event_publisher.answers
    assert deployment == blocked.id
    assert "Only user:ann can deploy" in why


def test_what_the_default_branch_does_not_say_is_not_run_and_the_rest_is(scenario):
    left = scenario.member("app", "dev", State.APPLY_FAILED)
    runs = scenario.member("db", "dev", State.PLAN_FAILED)
    blocked = scenario.waits(scenario.planned("web"))
    scenario.branch.file = WITHOUT_APP
    retry_gate(scenario.ports, blocked.id, "maintainer", AT)
    assert (len(_again(scenario, left)), len(_again(scenario, runs))) == (0, 1)
    ((_, why),) = scenario.event_publisher.answers
    assert "The root is no longer in the stack 'dev'. db (dev): runs again." in why


def _delivery(blocked, *failed):
    fields = {"repository": blocked.repository, "blocked": blocked.id, "failed": failed}
    return Delivery("retry-1", RETRY, {**fields, "sender": "maintainer"}, AT)


def test_what_the_same_retry_had_run_before_is_judged_once(scenario):
    failed = scenario.member("app", "dev", State.APPLY_FAILED)
    blocked = scenario.waits(scenario.planned("web"))
    delivery = _delivery(blocked, failed.id)
    retry_blocked(scenario.ports, delivery)
    scenario.branch.file = WITHOUT_APP
    assert retry_blocked(scenario.ports, delivery) == "app (dev): runs again."
    assert len(_again(scenario, failed)) == 1
    assert scenario.event_publisher.answers == []


def test_what_is_gone_meanwhile_is_left_out(scenario):
    failed = scenario.member("app", "dev", State.APPLY_FAILED)
    blocked = scenario.waits(scenario.planned("web"))
    assert retry_blocked(scenario.ports, _delivery(blocked, failed.id, "gone")) == "app (dev): runs again."
    assert "gone" in retry_blocked(scenario.ports, _delivery(replace(blocked, id="gone"), failed.id))

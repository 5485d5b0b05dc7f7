"""What blocks a deployment runs again under what the default branch grants and demands now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.instants import utc
from tests.unit.usecases.gate_world import GateWorld
from tests.unit.usecases.retries import STACKS
from tidegate.deploys.rules.state import State
from tidegate.gates.decide_gate import retry_gate
from tidegate.gates.retry_blocked import RETRY, retry_blocked
from tidegate.ports import Delivery

AT = utc("2026-03-02T10:00")
ONLY = "access_control: {{policies: [{{tag_query: '', apply: ['user:{}']}}]}}\n"
APPROVED = "apply_requirements: {checks: [{tag_query: 'dir:app', approved: {enabled: true}}]}\n"
WITHOUT_APP = "stacks: {names: {dev: {tag_query: 'not dir:app'}, prod: {tag_query: 'dir:app'}}}\n"


@pytest.fixture
def world():
    return GateWorld()


def _again(world, old):
    return [each for each in world.deployments.all() if each.rerun.of == old.id]


def test_access_and_policies_are_those_of_now(world):
    failed = world.member("app", "dev", State.APPLY_FAILED, access=None)
    blocked = world.waits(world.planned("web"))
    world.branch.file = STACKS + ONLY.format("maintainer") + APPROVED
    assert retry_gate(world.ports, blocked.id, "maintainer", AT).done
    (again,) = _again(world, failed)
    assert again.settings.access.apply == ("user:maintainer",)
    assert [each.approvals for each in again.settings.requires] == [1]


def test_who_may_not_apply_any_more_runs_nothing_again_and_the_check_run_says_so(world):
    failed = world.member("app", "dev", State.APPLY_FAILED)
    blocked = world.waits(world.planned("web"))
    world.branch.file = STACKS + ONLY.format("ann")
    retry_gate(world.ports, blocked.id, "maintainer", AT)
    assert _again(world, failed) == []
    ((deployment, why),) = world.event_publisher.answers
    assert deployment == blocked.id
    assert "Only user:ann can deploy" in why


def test_what_the_default_branch_does_not_say_is_not_run_and_the_rest_is(world):
    left = world.member("app", "dev", State.APPLY_FAILED)
    runs = world.member("db", "dev", State.PLAN_FAILED)
    blocked = world.waits(world.planned("web"))
    world.branch.file = WITHOUT_APP
    retry_gate(world.ports, blocked.id, "maintainer", AT)
    assert (len(_again(world, left)), len(_again(world, runs))) == (0, 1)
    ((_, why),) = world.event_publisher.answers
    assert "The root is no longer in the stack 'dev'. db (dev): runs again." in why


def _delivery(blocked, *failed):
    fields = {"repository": blocked.repository, "blocked": blocked.id, "failed": failed}
    return Delivery("retry-1", RETRY, {**fields, "sender": "maintainer"}, AT)


def test_what_the_same_retry_had_run_before_is_judged_once(world):
    failed = world.member("app", "dev", State.APPLY_FAILED)
    blocked = world.waits(world.planned("web"))
    delivery = _delivery(blocked, failed.id)
    retry_blocked(world.ports, delivery)
    world.branch.file = WITHOUT_APP
    assert retry_blocked(world.ports, delivery) == "app (dev): runs again."
    assert len(_again(world, failed)) == 1
    assert world.event_publisher.answers == []


def test_what_is_gone_meanwhile_is_left_out(world):
    failed = world.member("app", "dev", State.APPLY_FAILED)
    blocked = world.waits(world.planned("web"))
    assert retry_blocked(world.ports, _delivery(blocked, failed.id, "gone")) == "app (dev): runs again."
    assert "gone" in retry_blocked(world.ports, _delivery(replace(blocked, id="gone"), failed.id))

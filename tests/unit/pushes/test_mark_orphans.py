"""Roots that a push takes away: they are marked, and the check of the commit says what stays behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_plan, any_root, deployment_in
from tests.instants import utc
from tests.unit.discovery.trees import BASE
from tests.unit.pushes.push_scenario import AFTER, Scenario
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.queue import head_after
from tidegate.deploys.rules.state import State
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.pushes.mark_orphans import resources_after
from tidegate.roots.rules.root import queue_id
from tidegate.vcs.rules.check_run import Conclusion

AT = utc("2026-03-02T08:00")
WITHOUT_DB = {path: text for path, text in BASE.items() if not path.startswith("live/db/")}


@pytest.fixture
def scenario():
    return Scenario(new=WITHOUT_DB)


def deployed(scenario, name="live/db", state=State.APPLIED, **fields):
    plan = any_plan(changes=PlannedChanges(add=2, destroy=1, resources=4))
    own = {"root": any_root(name=name, dir=fields.pop("dir", name)), "plan": plan}
    one = deployment_in(state, **{**own, "requested_at": utc("2026-03-01T08:00"), **fields})
    one = replace(one, id=f"{one.id}-{name.replace('/', '-')}")
    scenario.deployments.add(one)
    head, _ = scenario.queues.read(one.queue)
    scenario.queues.commit(head, head_after(head, one))
    return one


def orphaned(scenario, name="live/db"):
    return scenario.queues.read(queue_id("acme/infra", name))[0].orphaned


def test_a_root_whose_directory_is_deleted_is_told_and_listed_with_what_stays(scenario):
    deployed(scenario)
    outcome = scenario.receive()
    found = orphaned(scenario)
    assert (found.revision, found.at, found.resources) == (AFTER, AT, 5)
    assert "5 resources remain" in outcome
    ((_, shown),) = scenario.forge.check_runs.items()
    assert (shown.name, shown.conclusion) == ("tidegate/config", Conclusion.NEUTRAL)
    assert "`tidegate destroy acme/infra live/db`" in shown.summary
    assert "1 root is gone" in shown.title


def test_received_again_the_push_says_the_same_and_marks_nothing_anew(scenario):
    deployed(scenario)
    first = scenario.receive("one")
    before = scenario.queues.read(queue_id("acme/infra", "live/db"))[0].version
    assert scenario.receive("two") == first
    assert scenario.queues.read(queue_id("acme/infra", "live/db"))[0].version == before


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "live/app"},
        {"name": "other", "dir": "live/app"},
        {"name": "elsewhere", "dir": "live/elsewhere"},
        {"destroy": Destruction()},
        {"state": State.REJECTED},
    ],
)
def test_what_is_there_or_was_never_there_or_is_destroyed_is_no_orphan(scenario, fields):
    one = deployed(scenario, **fields)
    assert "stay behind" not in scenario.receive()
    assert orphaned(scenario, one.root.name) is None


def test_a_root_that_the_file_no_more_names_is_an_orphan(scenario):
    scenario.old = {**BASE, "tidegate.yaml": "version: 1\nroots: [{dir: live/db}, {dir: live/app}]\n"}
    scenario.new = {**BASE, "tidegate.yaml": "version: 1\nroots: [{dir: live/app}]\n"}
    deployed(scenario)
    assert "resources remain" in scenario.receive()
    ((_, shown),) = scenario.forge.check_runs.items()
    assert "resources remain" in shown.summary


def test_many_roots_that_are_gone_are_counted(scenario):
    names = [f"old/{number}" for number in range(60)]
    scenario.old = BASE | {f"{name}/main.tf": "" for name in names}
    scenario.new = BASE
    for name in names:
        deployed(scenario, name)
    scenario.receive()
    ((_, shown),) = scenario.forge.check_runs.items()
    assert "60 roots are gone" in shown.title
    assert "and 10 more" in shown.summary


@pytest.mark.parametrize(
    ("state", "plan", "left"),
    [
        (State.APPLIED, any_plan(changes=PlannedChanges(add=2, destroy=3, resources=4)), 3),
        (State.NO_CHANGES, any_plan(changes=PlannedChanges(resources=4)), 4),
        (State.APPLY_FAILED, any_plan(changes=PlannedChanges(add=2, resources=4)), None),
        (State.APPLIED, any_plan(), None),
        (State.NO_CHANGES, None, None),
    ],
)
def test_resources_are_counted_from_the_state_before_the_last_deployment(state, plan, left):
    assert resources_after(deployment_in(state, plan=plan)) == left


def test_what_was_asked_for_before_a_root_was_gone_leaves_it_an_orphan(scenario):
    deployed(scenario)
    scenario.receive()
    earlier = deployed(scenario, requested_at=utc("2026-03-02T07:00"))
    assert orphaned(scenario) is not None
    assert earlier.id == scenario.queues.read(earlier.queue)[0].deployed.deployment


def test_a_merge_that_says_so_destroys_what_a_root_made(scenario):
    scenario.new = {**BASE, "tidegate.yaml": "version: 1\ndirs: {'**': {}, live/db: {destroy: true}}\n"}
    scenario.old = {**BASE, "tidegate.yaml": "version: 1\ndirs: {'**': {}, live/db: {}}\n"}
    scenario.receive()
    (one,) = scenario.enqueued
    assert (one.root.name, one.request.destroy, one.destroys_deployed) == ("live/db", Destruction(), False)


def test_a_root_of_several_stacks_is_an_orphan_in_each_in_which_it_is_deployed(scenario):
    deployed(scenario, stack="dev", shared=True)
    deployed(scenario, stack="prod", shared=True, state=State.REJECTED)
    scenario.receive()
    head, _ = scenario.queues.read(queue_id("acme/infra", "live/db"))
    assert [each.deployed and each.deployed.orphaned == orphaned(scenario) for each in head.by_stack] == [True, None]

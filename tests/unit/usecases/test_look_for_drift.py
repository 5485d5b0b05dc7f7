"""Runs that look for drift: one at a time, on what the default branch has now, and leaving busy roots alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import REPOSITORY, any_deployment, any_drift_finding, deployment_in
from tests.unit.usecases.drift_world import CHANGED, HEAD, NIGHTLY, DriftWorld
from tidegate.config.rules.drift import DriftState
from tidegate.deploys.rules.speculative_plan import Checkout, LayerState
from tidegate.deploys.rules.state import State
from tidegate.drift import discover_drift
from tidegate.drift.get_drift import Undoing, get_drift
from tidegate.messages import BeginSpeculativePlan, RecordSpeculativePlan
from tidegate.pull_requests.begin_speculative_plan import begin_speculative_plan
from tidegate.pull_requests.record_speculative_plan import record_speculative_plan
from tidegate.roots.rules.root import Root
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, NotFound, WrongState


@pytest.fixture
def world():
    world = DriftWorld()
    world.align()
    return world


def busy(world, root="app"):
    deployment = any_deployment(root=Root(root, root), repository=REPOSITORY)
    world.queues.enqueue(deployment)


def test_a_run_plans_the_roots_of_its_schedule_at_the_head(world):
    following, layers = world.discover()
    assert following == "plan"
    found = world.layers.many(layers)
    assert [each.root.name for each in found] == ["app", "db"]
    assert {(each.sha, each.base_sha, each.checkout, each.schedule) for each in found} == {
        (HEAD, HEAD, Checkout.BRANCH, "nightly")
    }
    assert (world.record().layers, world.record().sha, world.record().execution) == (layers, HEAD, "run-1")


def test_a_schedule_is_about_the_roots_that_its_query_matches(world):
    world.align(NIGHTLY.replace("''", "'dir:db'"))
    _, layers = world.discover()
    assert [each.root.name for each in world.layers.many(layers)] == ["db"]


def test_a_run_that_is_begun_again_goes_on(world):
    first = world.discover()
    assert world.discover() == first
    world.layers.remove(first[1][:1])
    assert world.discover() == first


def test_one_run_of_a_schedule_goes_on_at_a_time(world):
    world.discover()
    assert world.discover("run-2") == ("stop", ())
    world.runs.endings["run-1"] = "ABORTED"
    assert world.discover("run-2")[0] == "plan"
    assert world.record().execution == "run-2"


def test_a_run_whose_execution_nobody_remembers_is_over(world):
    world.put(execution="long ago", layers=("old",))
    assert world.discover()[0] == "plan"
    assert world.record().former == ("old",)


def test_a_schedule_that_nobody_knows_is_removed(world):
    world.schedules.entries[REPOSITORY, "forgotten"] = world.record()
    assert world.discover(name="forgotten") == ("stop", ())
    assert (REPOSITORY, "forgotten") not in world.schedules.entries


def test_a_schedule_that_the_file_has_not_any_more_goes_with_its_next_run(world):
    world.file("{}\n")
    assert world.discover() == ("stop", ())
    assert world.schedules.entries == {}
    with pytest.raises(NotFound):
        world.record()


def test_a_schedule_that_was_turned_off_goes_too(world):
    world.file(NIGHTLY.replace("{schedules", "{enabled: false, schedules"))
    assert world.discover() == ("stop", ())
    assert world.schedules.entries == {}


def test_a_busy_root_is_left_alone_and_says_so(world):
    busy(world)
    _, layers = world.discover()
    assert [each.root.name for each in world.layers.many(layers)] == ["db"]
    world.conclude()
    (skipped,) = world.record().of(DriftState.SKIPPED)
    assert (skipped.root, skipped.reason) == ("app", "The root has a deployment in progress or in its queue.")


def test_where_all_roots_are_busy_nothing_is_planned(world):
    busy(world, "app")
    busy(world, "db")
    assert world.discover() == ("conclude", ())
    assert world.conclude() == "2 not checked"


def test_a_file_that_cannot_be_used_is_told(world):
    world.file("roots: 3\n")
    assert world.discover() == ("conclude", ())
    assert world.conclude() == "no roots"
    assert "No root was checked" in world.record().notice


def test_what_the_forge_refuses_is_told_and_what_it_puts_off_is_tried_again(world):
    world.forge.failures = [ForgeUnavailable("503")]
    with pytest.raises(ForgeUnavailable):
        world.discover()
    world.forge.failures = [ForgeRefused(404, "no such repository")]
    assert world.discover() == ("conclude", ())
    assert "no such repository" in world.record().notice


def test_a_refused_root_is_told_and_the_others_are_looked_at(world):
    text = "stacks: {names: {a: {tag_query: 'dir:app'}, b: {tag_query: 'dir:app or dir:db'}}}\n"
    world.align(NIGHTLY + text)
    world.look()
    assert world.states() == {"db": "none"}
    assert world.record().notice.startswith("app: ")


def test_a_schedule_of_too_many_roots_looks_at_none(world, monkeypatch):
    monkeypatch.setattr(discover_drift, "MOST_LAYERS", 1)
    assert world.discover() == ("conclude", ())
    assert "matches 2 roots, counted per stack, but the limit is 1" in world.record().notice


def test_layers_of_drift_are_begun_and_recorded_without_a_pull_request(world):
    _, (layer, _) = world.discover()
    ports, begin = world.ports, BeginSpeculativePlan(layer=layer, attempt=1)
    job = ports.jobs.get(begin_speculative_plan(ports, begin).job)
    assert (job.sha, job.base_sha, job.merges) == (HEAD, HEAD, False)
    assert ports.plan_slots.read(REPOSITORY).held == (layer,)
    recorded = record_speculative_plan(ports, RecordSpeculativePlan(layer=layer, error="RunnerStopped"))
    assert recorded.state == LayerState.FAILED
    assert ports.event_publisher.layers == []
    assert ports.plan_slots.read(REPOSITORY).is_quiet
    with pytest.raises(WrongState):
        begin_speculative_plan(ports, begin)


def test_schedules_are_looked_at_by_repository_those_that_need_people_first(world):
    world.look(app=CHANGED)
    quiet = world.drifts.save(
        replace(world.record(), entry=replace(world.record().entry, name="a"), findings=(), version=0)
    )
    other = world.drifts.save(replace(quiet, repository="acme/other", version=0))
    found = get_drift(world.ports, {REPOSITORY, "acme/other"})
    assert [each.record for each in found] == [world.record(), quiet, other]
    assert [each.record for each in get_drift(world.ports, {"acme/other"})] == [other]


def test_what_became_of_deployments_that_undo_drift_is_told(world):
    done, waiting = deployment_in(State.APPLIED), deployment_in(State.QUEUED, 2)
    for each in (done, waiting):
        world.deployments.add(each)
    findings = [any_drift_finding(name, deployment=name) for name in (done.id, waiting.id, "gone", "")]
    world.drifts.save(replace(world.record(), findings=tuple(findings)))
    (view,) = get_drift(world.ports, {REPOSITORY})
    assert [view.undoing(each) for each in findings] == [Undoing.UNDONE, Undoing.ASKED, Undoing.ABSENT, None]


def test_of_very_many_deployments_not_all_are_read(world):
    findings = [any_drift_finding(f"r{number}", deployment=f"d{number}") for number in range(101)]
    world.drifts.save(replace(world.record(), findings=tuple(findings)))
    (view,) = get_drift(world.ports, {REPOSITORY})
    assert view.undoing(findings[0]) is Undoing.ABSENT
    assert view.undoing(findings[100]) is Undoing.ASKED


def test_what_is_to_be_destroyed_is_not_looked_at(world):
    world.file("dirs: {'**': {}, db: {destroy: true}}\n" + NIGHTLY)
    world.discover()
    assert [layer.root.name for layer in world.layers.many(world.record().layers)] == ["app"]

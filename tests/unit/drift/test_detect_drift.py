"""Runs that look for drift: one at a time, on what the default branch has now, and leaving busy roots alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import REPOSITORY, any_deployment, any_drift_finding, deployment_in
from tests.unit.drift.drift_scenario import CHANGED, HEAD, NIGHTLY, DriftScenario
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
from tidegate.vcs.rules.headline import Headline


@pytest.fixture
def scenario():
    scenario = DriftScenario()
    scenario.align()
    return scenario


def busy(scenario, root="app"):
    deployment = any_deployment(root=Root(root, root), repository=REPOSITORY)
    scenario.queues.enqueue(deployment)


def test_a_run_plans_the_roots_of_its_schedule_at_the_head(scenario):
    following, layers = scenario.discover()
    assert following == "plan"
    found = scenario.layers.many(layers)
    assert [each.root.name for each in found] == ["app", "db"]
    assert {(each.sha, each.base_sha, each.checkout, each.schedule) for each in found} == {
        (HEAD, HEAD, Checkout.BRANCH, "nightly")
    }
    assert (scenario.record().layers, scenario.record().sha, scenario.record().execution) == (layers, HEAD, "run-1")


def test_a_run_keeps_what_the_commit_is_that_it_checked(scenario):
    scenario.forge.headlines[HEAD] = Headline("Grow it", "developer")
    scenario.discover()
    assert scenario.record().headline == Headline("Grow it", "developer")


def test_a_schedule_is_about_the_roots_that_its_query_matches(scenario):
    scenario.align(NIGHTLY.replace("''", "'dir:db'"))
    _, layers = scenario.discover()
    assert [each.root.name for each in scenario.layers.many(layers)] == ["db"]


def test_a_run_that_is_begun_again_goes_on(scenario):
    first = scenario.discover()
    assert scenario.discover() == first
    scenario.layers.remove(first[1][:1])
    assert scenario.discover() == first


def test_one_run_of_a_schedule_goes_on_at_a_time(scenario):
    scenario.discover()
    assert scenario.discover("run-2") == ("stop", ())
    scenario.runs.endings["run-1"] = "ABORTED"
    assert scenario.discover("run-2")[0] == "plan"
    assert scenario.record().execution == "run-2"


def test_a_run_whose_execution_nobody_remembers_is_over(scenario):
    scenario.put(execution="long ago", layers=("old",))
    assert scenario.discover()[0] == "plan"
    assert scenario.record().former == ("old",)


def test_a_schedule_that_nobody_knows_is_removed(scenario):
    scenario.schedules.entries[REPOSITORY, "forgotten"] = scenario.record()
    assert scenario.discover(name="forgotten") == ("stop", ())
    assert (REPOSITORY, "forgotten") not in scenario.schedules.entries


def test_a_schedule_that_the_file_has_not_any_more_goes_with_its_next_run(scenario):
    scenario.file("{}\n")
    assert scenario.discover() == ("stop", ())
    assert scenario.schedules.entries == {}
    with pytest.raises(NotFound):
        scenario.record()


def test_a_schedule_that_was_turned_off_goes_too(scenario):
    scenario.file(NIGHTLY.replace("{schedules", "{enabled: false, schedules"))
    assert scenario.discover() == ("stop", ())
    assert scenario.schedules.entries == {}


def test_a_busy_root_is_left_alone_and_says_so(scenario):
    busy(scenario)
    _, layers = scenario.discover()
    assert [each.root.name for each in scenario.layers.many(layers)] == ["db"]
    scenario.conclude()
    (skipped,) = scenario.record().of(DriftState.SKIPPED)
    assert (skipped.root, skipped.reason) == ("app", "The root has a deployment in progress or in its queue.")


def test_where_all_roots_are_busy_nothing_is_planned(scenario):
    busy(scenario, "app")
    busy(scenario, "db")
    assert scenario.discover() == ("conclude", ())
    assert scenario.conclude() == "2 not checked"


def test_a_file_that_cannot_be_used_is_told(scenario):
    scenario.file("roots: 3\n")
    assert scenario.discover() == ("conclude", ())
    assert scenario.conclude() == "no roots"
    assert "No root was checked" in scenario.record().notice


def test_what_the_forge_refuses_is_told_and_what_it_puts_off_is_tried_again(scenario):
    scenario.forge.failures = [ForgeUnavailable("503")]
    with pytest.raises(ForgeUnavailable):
        scenario.discover()
    scenario.forge.failures = [ForgeRefused(404, "no such repository")]
    assert scenario.discover() == ("conclude", ())
    assert "no such repository" in scenario.record().notice


def test_a_refused_root_is_told_and_the_others_are_looked_at(scenario):
    text = "stacks: {names: {a: {tag_query: 'dir:app'}, b: {tag_query: 'dir:app or dir:db'}}}\n"
    scenario.align(NIGHTLY + text)
    scenario.look()
    assert scenario.states() == {"db": "none"}
    assert scenario.record().notice.startswith("app: ")


def test_a_schedule_of_too_many_roots_looks_at_none(scenario, monkeypatch):
    monkeypatch.setattr(discover_drift, "MOST_LAYERS", 1)
    assert scenario.discover() == ("conclude", ())
    assert "matches 2 roots, counted per stack, but the limit is 1" in scenario.record().notice


def test_layers_of_drift_are_begun_and_recorded_without_a_pull_request(scenario):
    _, (layer, _) = scenario.discover()
    ports, begin = scenario.ports, BeginSpeculativePlan(layer=layer, attempt=1)
    job = ports.jobs.get(begin_speculative_plan(ports, begin).job)
    assert (job.sha, job.base_sha, job.merges) == (HEAD, HEAD, False)
    assert ports.plan_slots.read(REPOSITORY).held == (layer,)
    recorded = record_speculative_plan(ports, RecordSpeculativePlan(layer=layer, error="RunnerStopped"))
    assert recorded.state == LayerState.FAILED
    assert ports.event_publisher.layers == []
    assert ports.plan_slots.read(REPOSITORY).is_quiet
    with pytest.raises(WrongState):
        begin_speculative_plan(ports, begin)


def test_schedules_are_looked_at_by_repository_those_that_need_people_first(scenario):
    scenario.look(app=CHANGED)
    quiet = scenario.drifts.save(
        replace(scenario.record(), entry=replace(scenario.record().entry, name="a"), findings=(), version=0)
    )
    other = scenario.drifts.save(replace(quiet, repository="acme/other", version=0))
    both = {REPOSITORY, "acme/other"}
    assert [each.record for each in get_drift(scenario.ports, both).views] == [scenario.record(), quiet, other]
    assert [each.record for each in get_drift(scenario.ports, {"acme/other"}).views] == [other]
    first = get_drift(scenario.ports, both, 2)
    second = get_drift(scenario.ports, both, 2, first.next)
    assert ([each.record for each in second.views], second.next) == ([other], None)
    assert get_drift(scenario.ports, set()).views == []


def test_what_became_of_deployments_that_undo_drift_is_told(scenario):
    done, waiting = deployment_in(State.APPLIED), deployment_in(State.QUEUED, 2)
    for each in (done, waiting):
        scenario.deployments.add(each)
    findings = [any_drift_finding(name, deployment=name) for name in (done.id, waiting.id, "gone", "")]
    scenario.drifts.save(replace(scenario.record(), findings=tuple(findings)))
    (view,) = get_drift(scenario.ports, {REPOSITORY}).views
    assert [view.undoing(each) for each in findings] == [Undoing.UNDONE, Undoing.ASKED, Undoing.ABSENT, None]


def test_of_very_many_deployments_not_all_are_read(scenario):
    findings = [any_drift_finding(f"r{number}", deployment=f"d{number}") for number in range(101)]
    scenario.drifts.save(replace(scenario.record(), findings=tuple(findings)))
    (view,) = get_drift(scenario.ports, {REPOSITORY}).views
    assert view.undoing(findings[0]) is Undoing.ABSENT
    assert view.undoing(findings[100]) is Undoing.ASKED


def test_what_is_to_be_destroyed_is_not_looked_at(scenario):
    scenario.file("dirs: {'**': {}, db: {destroy: true}}\n" + NIGHTLY)
    scenario.discover()
    assert [layer.root.name for layer in scenario.layers.many(scenario.record().layers)] == ["app"]

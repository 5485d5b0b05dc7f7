from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from tests.builders import any_layer, any_plan, sha
from tests.fakes.ports import changed, memory_ports, port
from tidegate.deploys.rules.job import JobKind, job_digest, job_parts
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.speculative_plan import Checkout, LayerState
from tidegate.messages import BeginSpeculativePlan, RecordSpeculativePlan
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicySetStatus
from tidegate.pull_requests.begin_speculative_plan import begin_speculative_plan
from tidegate.pull_requests.record_speculative_plan import record_speculative_plan
from tidegate.rules.errors import Conflict, NoFreePlanSlot, NotFound, WrongState

LIMIT = 1
EMPTY = any_plan(changes=PlannedChanges())
ENDED = [state for state in LayerState if state not in {LayerState.WAITING, LayerState.PLANNING}]
UNREAD = json.dumps({"message": "The engine ended with exit code 1.", "last_lines": "Error: no such region"})


class World:
    """One layer, its jobs, and the use cases on them."""

    layers, places, jobs = port("speculative_plans"), port("plan_slots"), port("jobs")
    event_publisher, runners = port("event_publisher"), port("runners")

    def __init__(self, **fields):
        self.ports = memory_ports(place_limit=LIMIT)
        layer = any_layer(**fields)
        self.id = layer.id
        self.layers.create([layer])

    @property
    def layer(self):
        return self.layers.get(self.id)

    def put(self, **fields):
        return self.layers.save(replace(self.layer, **fields))

    def begin(self, attempt=1, tries=1):
        return begin_speculative_plan(self.ports, BeginSpeculativePlan(layer=self.id, attempt=attempt, tries=tries))

    def record(self, plan=None, error=None, cause=None):
        message = RecordSpeculativePlan(layer=self.id, plan=plan, error=error, cause=cause)
        return record_speculative_plan(self.ports, message)


@pytest.fixture
def world():
    return World()


def test_a_layer_that_waits_gets_a_job_that_merges_its_head_into_its_base(world):
    begun = world.begin()
    job = world.jobs.get(begun.job)
    assert job_parts(begun.job) == (world.id, JobKind.SPECULATE, 1)
    assert (job.kind, job.sha, job.base_sha, job.merges) == (JobKind.SPECULATE, sha(3), sha(2), True)
    assert (job.root, job.stack) == (world.layer.root, "default")
    assert begun.digest == job_digest(job)
    assert (world.layer.state, world.layer.job, world.layer.reason) == (LayerState.PLANNING, begun.job, "")


@pytest.mark.parametrize("fork", ["", sha(1)])
def test_a_job_tells_what_is_known_to_be_common_to_head_and_base(fork):
    world = World(fork_sha=fork)
    assert world.jobs.get(world.begin().job).fork_sha == fork


def test_a_plan_takes_a_slot_once_it_moves_from_lambda_to_fargate(world):
    world.ports = changed(world.ports, {"TIDEGATE_PLAN_FUNCTION": "3008 MB"})
    world.begin()
    assert world.places.read(INSTALLATION).is_quiet
    world.begin(attempt=2)
    assert world.places.read(INSTALLATION).held == (world.id,)
    assert world.layer.reason == ""


def test_a_layer_that_plans_its_branch_merges_nothing():
    world = World(checkout=Checkout.BRANCH)
    assert not world.jobs.get(world.begin().job).merges


@pytest.mark.parametrize("schedule", ["", "nightly"])
def test_a_job_tells_whether_it_looks_for_drift(schedule):
    world = World(schedule=schedule)
    assert world.jobs.get(world.begin().job).drift is bool(schedule)


def test_what_a_plan_may_use_is_said_by_the_configuration_that_was_trusted():
    world = World(allowed_providers=("hashicorp/*",), allowed_modules=())
    job = world.jobs.get(world.begin().job)
    assert (job.allowed_providers, job.allowed_modules) == (("hashicorp/*",), ())


def test_each_step_of_a_layer_is_shown_again_where_it_is_repeated(world):
    for step in (world.begin, world.begin, lambda: world.record(any_plan()), lambda: world.record(any_plan())):
        step()
    states = [layer.state for layer in world.event_publisher.layers]
    assert states == [LayerState.PLANNING, LayerState.PLANNING, LayerState.PLANNED, LayerState.PLANNED]


def test_a_plan_that_is_begun_twice_is_begun_once(world):
    first, before = world.begin(), world.layer
    assert world.begin() == first
    assert world.layer == before


def test_the_second_attempt_has_a_job_of_its_own_and_says_why(world):
    first, second = world.begin(), world.begin(2, tries=2)
    assert first.job != second.job
    assert world.layer.job == second.job
    assert "Attempt 2 of" in world.layer.reason


@pytest.mark.parametrize("state", ENDED)
def test_a_layer_that_has_ended_is_not_planned(world, state):
    world.put(state=state)
    with pytest.raises(WrongState):
        world.begin()
    with pytest.raises(NotFound):
        world.jobs.get(f"{world.id}-speculate-1")


def test_a_layer_that_is_gone_is_not_planned(world):
    world.layers.remove([world.id])
    with pytest.raises(NotFound):
        world.begin()


@pytest.mark.parametrize(("plan", "state"), [(any_plan(), LayerState.PLANNED), (EMPTY, LayerState.NO_CHANGES)])
def test_a_plan_is_stored_and_tells_whether_the_merge_would_change_something(world, plan, state):
    world.begin(2)
    recorded = world.record(plan)
    assert (recorded.state, recorded.policies) == (state, False)
    assert (world.layer.state, world.layer.plan, world.layer.reason) == (state, plan, "")


def test_a_plan_is_held_against_the_policies_that_cover_its_root():
    world = World(policy_sets=(PolicySetStatus("security", "policies/x.json"),))
    world.begin()
    assert world.record(EMPTY).policies


def test_a_failed_plan_keeps_the_sentence_and_the_last_lines_of_the_engine(world):
    world.begin()
    recorded = world.record(error="TerraformClientError", cause=UNREAD)
    assert (recorded.state, recorded.policies) == (LayerState.FAILED, False)
    assert world.layer.reason == "The engine ended with exit code 1."
    assert world.layer.last_lines == "Error: no such region"


def test_code_that_may_not_be_run_is_refused_and_not_failed(world):
    cause = json.dumps({"message": "It runs a program.", "last_lines": "tidegate: It runs", "refused": True})
    world.begin()
    assert world.record(error="TerraformClientError", cause=cause).state == LayerState.REFUSED
    assert (world.layer.reason, world.layer.last_lines) == ("It runs a program.", "")
    planned = World(plan=any_plan(), state=LayerState.PLANNED)
    assert planned.record(error="TerraformClientError", cause=cause).state == LayerState.FAILED
    drift = World(schedule="nightly")
    assert drift.record(error="TerraformClientError", cause=cause).state == LayerState.FAILED
    for other in ({"refused": "yes"}, {"refused": False}, {}):
        again = World()
        assert again.record(error="X", cause=json.dumps({"message": "x", **other})).state == LayerState.FAILED


def test_a_conflict_is_none_of_the_engines_failures(world):
    cause = json.dumps({"message": "They both change a.tf.", "last_lines": "tidegate: They both", "conflict": True})
    world.begin()
    assert world.record(error="TerraformClientError", cause=cause).state == LayerState.FAILED
    assert (world.layer.conflict, world.layer.reason, world.layer.last_lines) == (True, "They both change a.tf.", "")
    other = World()
    other.record(error="TerraformClientError", cause=UNREAD)
    assert not other.layer.conflict


@pytest.mark.parametrize(
    ("error", "cause", "reason"),
    [
        ("States.HeartbeatTimeout", "", "The runner sent no heartbeat for 1 minute."),
        ("RunnerStopped", json.dumps({"message": "OutOfMemory"}), "The runner stopped: OutOfMemory"),
        ("WrongState", json.dumps({"errorMessage": "x is planned."}), "WrongState: x is planned."),
        ("KeyError", None, "KeyError"),
    ],
)
def test_a_fault_of_tidegate_ends_the_layer_as_failed_with_its_reason(world, error, cause, reason):
    world.begin()
    world.record(error=error, cause=cause)
    assert (world.layer.state, world.layer.reason) == (LayerState.FAILED, reason)


def test_a_plan_that_could_not_be_judged_does_not_stand(world):
    world.begin()
    world.record(any_plan())
    world.record(error="PolicyEngineFailed", cause="no memory")
    assert world.layer.state is LayerState.FAILED


@pytest.mark.parametrize("state", [LayerState.CANCELLED, LayerState.REFUSED, LayerState.FAILED])
@pytest.mark.parametrize("outcome", [{"plan": any_plan()}, {"error": "TerraformClientError", "cause": UNREAD}])
def test_a_layer_that_was_ended_stays_as_it_is(world, state, outcome):
    before = world.put(state=state, reason="A newer commit came.")
    assert world.record(**outcome).state == state
    assert world.layer == before


@pytest.mark.parametrize("outcome", [{"plan": any_plan()}, {"error": "TerraformClientError", "cause": UNREAD}])
def test_what_is_recorded_twice_is_recorded_once(world, outcome):
    world.begin()
    first, before = world.record(**outcome), world.layer
    assert world.record(**outcome) == first
    assert world.layer == before


def test_a_layer_that_is_gone_counts_as_cancelled(world):
    world.layers.remove([world.id])
    assert world.record(any_plan()).state == LayerState.CANCELLED


def test_two_who_record_at_once_do_not_overwrite_each_other(world):
    world.begin()
    stale = world.layer
    world.put(state=LayerState.CANCELLED)
    with pytest.raises(Conflict):
        world.layers.save(replace(stale, state=LayerState.PLANNED))


@pytest.mark.parametrize("outcome", [{}, {"plan": any_plan(), "error": "TerraformClientError"}])
def test_an_outcome_is_either_a_plan_or_an_error(world, outcome):
    with pytest.raises(ValidationError):
        world.record(**outcome)


def held(world):
    return world.places.read(world.layer.repository).held


def occupy(world, other="other"):
    world.places.take(world.layer.repository, other, LIMIT)


def test_a_plan_has_a_place_from_its_beginning_until_its_outcome_is_recorded(world):
    world.begin()
    assert held(world) == (world.id,)
    world.begin(2)
    assert held(world) == (world.id,)
    world.record(any_plan())
    assert held(world) == ()


@pytest.mark.parametrize("error", ["TerraformClientError", "RunnerStopped", "States.Timeout"])
def test_a_plan_that_fails_gives_its_place_back_as_well(world, error):
    world.begin()
    world.record(error=error)
    assert held(world) == ()


def test_where_no_place_is_free_nothing_is_begun(world):
    occupy(world)
    before = world.layer
    with pytest.raises(NoFreePlanSlot, match="All concurrency slots are in use: 1 of 1"):
        world.begin()
    assert (world.layer, held(world)) == (before, ("other",))
    with pytest.raises(NotFound):
        world.jobs.get(f"{world.id}-speculate-1")


def test_a_plan_does_not_pass_those_who_wait(world):
    world.places.join(world.layer.repository, "first")
    with pytest.raises(NoFreePlanSlot, match="Other plans already wait for a concurrency slot: 1"):
        world.begin()


def test_a_layer_that_is_cancelled_while_it_takes_its_place_gives_it_back(world, monkeypatch):
    cancel(world, monkeypatch, lambda: world.put(state=LayerState.CANCELLED))
    with pytest.raises(Conflict):
        world.begin()
    assert held(world) == ()


def test_a_layer_that_is_removed_while_it_takes_its_place_gives_it_back(world, monkeypatch):
    repository = world.layer.repository
    cancel(world, monkeypatch, lambda: world.layers.remove([world.id]))
    with pytest.raises(Conflict):
        world.begin()
    assert world.places.read(repository).held == ()


def test_a_layer_that_somebody_else_changes_meanwhile_keeps_its_place_to_begin_again(world, monkeypatch):
    cancel(world, monkeypatch, lambda: world.put(why="Somebody else wrote."))
    with pytest.raises(Conflict):
        world.begin()
    assert held(world) == (world.id,)
    assert world.begin().job


def cancel(world, monkeypatch, act):
    """Let something happen to the layer between the taking of its place and the writing of its record, once."""
    acts = [act]
    create = world.jobs.create

    def meanwhile(job):
        for each in acts:
            each()
        acts.clear()
        create(job)

    monkeypatch.setattr(world.jobs, "create", meanwhile)


def test_who_waited_for_a_place_in_vain_is_told_so_in_words(world):
    world.record(error="NoFreePlanSlot", cause="Within a day, there was no free place.")
    assert world.layer.reason == "Within a day, there was no free place."


def _take(world, job):
    world.jobs.hand_over(job, "token", "clone")
    world.jobs.take(job, f"arn:task/{job}")


def test_another_attempt_stops_the_runner_of_the_one_before(world):
    first = world.begin().job
    _take(world, first)
    world.begin()
    assert world.runners.stopped == {}
    world.begin(attempt=2, tries=2)
    assert set(world.runners.stopped) == {f"arn:task/{first}"}


@pytest.mark.parametrize(
    ("error", "stops"), [("States.HeartbeatTimeout", 1), ("States.Timeout", 1), ("RunnerFault", 0)]
)
def test_the_runner_of_a_plan_that_was_given_up_is_stopped(world, error, stops):
    _take(world, world.begin().job)
    world.record(error=error)
    assert len(world.runners.stopped) == stops


def test_a_late_failure_stops_no_runner_of_a_plan_that_was_recorded(world):
    _take(world, world.begin().job)
    world.record(plan=any_plan())
    world.record(error="States.Timeout")
    assert world.runners.stopped == {}


def test_a_root_that_is_gone_is_counted_on_the_base_branchs_commit():
    world = World(gone=True)
    job = world.jobs.get(world.begin().job)
    assert (job.sha, job.base_sha, job.merges) == (world.layer.base_sha, world.layer.base_sha, False)


@pytest.mark.parametrize("message", [{"plan": any_plan()}, {"error": "TerraformClientError", "cause": UNREAD}])
def test_a_root_that_is_gone_has_nothing_to_change_and_fails_nothing(message):
    world = World(gone=True)
    world.put(state=LayerState.PLANNING)
    world.record(**message)
    assert world.layer.state is LayerState.NO_CHANGES
    assert world.layer.reason == ("" if "plan" in message else "The engine ended with exit code 1.")


def test_what_the_file_destroys_is_planned_so():
    world = World(destroy=True)
    assert world.jobs.get(world.begin().job).destroy

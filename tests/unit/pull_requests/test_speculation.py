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


class Scenario:
    """One layer, its jobs, and the use cases on them."""

    layers, places, jobs = port("speculative_plans"), port("plan_slots"), port("jobs")
    event_publisher, runners = port("event_publisher"), port("runners")

    def __init__(self, **fields):
        self.ports = memory_ports(plan_slot_limit=LIMIT)
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
def scenario():
    return Scenario()


def test_a_layer_that_waits_gets_a_job_that_merges_its_head_into_its_base(scenario):
    begun = scenario.begin()
    job = scenario.jobs.get(begun.job)
    assert job_parts(begun.job) == (scenario.id, JobKind.SPECULATE, 1)
    assert (job.kind, job.sha, job.base_sha, job.merges) == (JobKind.SPECULATE, sha(3), sha(2), True)
    assert (job.root, job.stack) == (scenario.layer.root, "default")
    assert begun.digest == job_digest(job)
    assert (scenario.layer.state, scenario.layer.job, scenario.layer.reason) == (LayerState.PLANNING, begun.job, "")


@pytest.mark.parametrize("fork", ["", sha(1)])
def test_a_job_tells_what_is_known_to_be_common_to_head_and_base(fork):
    scenario = Scenario(fork_sha=fork)
    assert scenario.jobs.get(scenario.begin().job).fork_sha == fork


def test_a_plan_takes_a_slot_once_it_moves_from_lambda_to_fargate(scenario):
    scenario.ports = changed(scenario.ports, {"TIDEGATE_PLAN_FUNCTION": "3008 MB"})
    scenario.begin()
    assert scenario.places.read(INSTALLATION).is_quiet
    scenario.begin(attempt=2)
    assert scenario.places.read(INSTALLATION).held == (scenario.id,)
    assert scenario.layer.reason == ""


def test_a_layer_that_plans_its_branch_merges_nothing():
    scenario = Scenario(checkout=Checkout.BRANCH)
    assert not scenario.jobs.get(scenario.begin().job).merges


@pytest.mark.parametrize("schedule", ["", "nightly"])
def test_a_job_tells_whether_it_looks_for_drift(schedule):
    scenario = Scenario(schedule=schedule)
    assert scenario.jobs.get(scenario.begin().job).drift is bool(schedule)


def test_what_a_plan_may_use_is_said_by_the_configuration_that_was_trusted():
    scenario = Scenario(allowed_providers=("hashicorp/*",), allowed_modules=())
    job = scenario.jobs.get(scenario.begin().job)
    assert (job.allowed_providers, job.allowed_modules) == (("hashicorp/*",), ())


def test_each_step_of_a_layer_is_shown_again_where_it_is_repeated(scenario):
    for step in (
        scenario.begin,
        scenario.begin,
        lambda: scenario.record(any_plan()),
        lambda: scenario.record(any_plan()),
    ):
        step()
    states = [layer.state for layer in scenario.event_publisher.layers]
    assert states == [LayerState.PLANNING, LayerState.PLANNING, LayerState.PLANNED, LayerState.PLANNED]


def test_a_plan_that_is_begun_twice_is_begun_once(scenario):
    first, before = scenario.begin(), scenario.layer
    assert scenario.begin() == first
    assert scenario.layer == before


def test_the_second_attempt_has_a_job_of_its_own_and_says_why(scenario):
    first, second = scenario.begin(), scenario.begin(2, tries=2)
    assert first.job != second.job
    assert scenario.layer.job == second.job
    assert "Attempt 2 of" in scenario.layer.reason


@pytest.mark.parametrize("state", ENDED)
def test_a_layer_that_has_ended_is_not_planned(scenario, state):
    scenario.put(state=state)
    with pytest.raises(WrongState):
        scenario.begin()
    with pytest.raises(NotFound):
        scenario.jobs.get(f"{scenario.id}-speculate-1")


def test_a_layer_that_is_gone_is_not_planned(scenario):
    scenario.layers.remove([scenario.id])
    with pytest.raises(NotFound):
        scenario.begin()


@pytest.mark.parametrize(("plan", "state"), [(any_plan(), LayerState.PLANNED), (EMPTY, LayerState.NO_CHANGES)])
def test_a_plan_is_stored_and_tells_whether_the_merge_would_change_something(scenario, plan, state):
    scenario.begin(2)
    recorded = scenario.record(plan)
    assert (recorded.state, recorded.policies) == (state, False)
    assert (scenario.layer.state, scenario.layer.plan, scenario.layer.reason) == (state, plan, "")


def test_a_plan_is_held_against_the_policies_that_cover_its_root():
    scenario = Scenario(policy_sets=(PolicySetStatus("security", "policies/x.json"),))
    scenario.begin()
    assert scenario.record(EMPTY).policies


def test_a_failed_plan_keeps_the_first_error_the_sentence_and_the_last_lines_of_the_engine(scenario):
    scenario.begin()
    recorded = scenario.record(error="TerraformClientError", cause=UNREAD)
    assert (recorded.state, recorded.policies) == (LayerState.FAILED, False)
    assert scenario.layer.reason == "no such region: The engine ended with exit code 1."
    assert scenario.layer.last_lines == "Error: no such region"


def test_code_that_may_not_be_run_is_refused_and_not_failed(scenario):
    cause = json.dumps({"message": "It runs a program.", "last_lines": "tidegate: It runs", "refused": True})
    scenario.begin()
    assert scenario.record(error="TerraformClientError", cause=cause).state == LayerState.REFUSED
    assert (scenario.layer.reason, scenario.layer.last_lines) == ("It runs a program.", "")
    planned = Scenario(plan=any_plan(), state=LayerState.PLANNED)
    assert planned.record(error="TerraformClientError", cause=cause).state == LayerState.FAILED
    drift = Scenario(schedule="nightly")
    assert drift.record(error="TerraformClientError", cause=cause).state == LayerState.FAILED
    for other in ({"refused": "yes"}, {"refused": False}, {}):
        again = Scenario()
        assert again.record(error="X", cause=json.dumps({"message": "x", **other})).state == LayerState.FAILED


def test_a_conflict_is_none_of_the_engines_failures(scenario):
    cause = json.dumps({"message": "They both change a.tf.", "last_lines": "tidegate: They both", "conflict": True})
    scenario.begin()
    assert scenario.record(error="TerraformClientError", cause=cause).state == LayerState.FAILED
    assert (scenario.layer.conflict, scenario.layer.reason, scenario.layer.last_lines) == (
        True,
        "They both change a.tf.",
        "",
    )
    other = Scenario()
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
def test_a_fault_of_tidegate_ends_the_layer_as_failed_with_its_reason(scenario, error, cause, reason):
    scenario.begin()
    scenario.record(error=error, cause=cause)
    assert (scenario.layer.state, scenario.layer.reason) == (LayerState.FAILED, reason)


def test_a_plan_that_could_not_be_judged_does_not_stand(scenario):
    scenario.begin()
    scenario.record(any_plan())
    scenario.record(error="PolicyEngineFailed", cause="no memory")
    assert scenario.layer.state is LayerState.FAILED


@pytest.mark.parametrize("state", [LayerState.CANCELLED, LayerState.REFUSED, LayerState.FAILED])
@pytest.mark.parametrize("outcome", [{"plan": any_plan()}, {"error": "TerraformClientError", "cause": UNREAD}])
def test_a_layer_that_was_ended_stays_as_it_is(scenario, state, outcome):
    before = scenario.put(state=state, reason="A newer commit came.")
    assert scenario.record(**outcome).state == state
    assert scenario.layer == before


@pytest.mark.parametrize("outcome", [{"plan": any_plan()}, {"error": "TerraformClientError", "cause": UNREAD}])
def test_what_is_recorded_twice_is_recorded_once(scenario, outcome):
    scenario.begin()
    first, before = scenario.record(**outcome), scenario.layer
    assert scenario.record(**outcome) == first
    assert scenario.layer == before


def test_a_layer_that_is_gone_counts_as_cancelled(scenario):
    scenario.layers.remove([scenario.id])
    assert scenario.record(any_plan()).state == LayerState.CANCELLED


def test_two_who_record_at_once_do_not_overwrite_each_other(scenario):
    scenario.begin()
    stale = scenario.layer
    scenario.put(state=LayerState.CANCELLED)
    with pytest.raises(Conflict):
        scenario.layers.save(replace(stale, state=LayerState.PLANNED))


@pytest.mark.parametrize("outcome", [{}, {"plan": any_plan(), "error": "TerraformClientError"}])
def test_an_outcome_is_either_a_plan_or_an_error(scenario, outcome):
    with pytest.raises(ValidationError):
        scenario.record(**outcome)


def held(scenario):
    return scenario.places.read(scenario.layer.repository).held


def occupy(scenario, other="other"):
    scenario.places.take(scenario.layer.repository, other, LIMIT)


def test_a_plan_has_a_place_from_its_beginning_until_its_outcome_is_recorded(scenario):
    scenario.begin()
    assert held(scenario) == (scenario.id,)
    scenario.begin(2)
    assert held(scenario) == (scenario.id,)
    scenario.record(any_plan())
    assert held(scenario) == ()


@pytest.mark.parametrize("error", ["TerraformClientError", "RunnerStopped", "States.Timeout"])
def test_a_plan_that_fails_gives_its_place_back_as_well(scenario, error):
    scenario.begin()
    scenario.record(error=error)
    assert held(scenario) == ()


def test_where_no_place_is_free_nothing_is_begun(scenario):
    occupy(scenario)
    before = scenario.layer
    with pytest.raises(NoFreePlanSlot, match="All concurrency slots are in use: 1 of 1"):
        scenario.begin()
    assert (scenario.layer, held(scenario)) == (before, ("other",))
    with pytest.raises(NotFound):
        scenario.jobs.get(f"{scenario.id}-speculate-1")


def test_a_plan_does_not_pass_those_who_wait(scenario):
    scenario.places.join(scenario.layer.repository, "first")
    with pytest.raises(NoFreePlanSlot, match="Other plans already wait for a concurrency slot: 1"):
        scenario.begin()


def test_a_layer_that_is_cancelled_while_it_takes_its_place_gives_it_back(scenario, monkeypatch):
    cancel(scenario, monkeypatch, lambda: scenario.put(state=LayerState.CANCELLED))
    with pytest.raises(Conflict):
        scenario.begin()
    assert held(scenario) == ()


def test_a_layer_that_is_removed_while_it_takes_its_place_gives_it_back(scenario, monkeypatch):
    repository = scenario.layer.repository
    cancel(scenario, monkeypatch, lambda: scenario.layers.remove([scenario.id]))
    with pytest.raises(Conflict):
        scenario.begin()
    assert scenario.places.read(repository).held == ()


def test_a_layer_that_somebody_else_changes_meanwhile_keeps_its_place_to_begin_again(scenario, monkeypatch):
    cancel(scenario, monkeypatch, lambda: scenario.put(why="Somebody else wrote."))
    with pytest.raises(Conflict):
        scenario.begin()
    assert held(scenario) == (scenario.id,)
    assert scenario.begin().job


def cancel(scenario, monkeypatch, act):
    """Let something happen to the layer between the taking of its place and the writing of its record, once."""
    acts = [act]
    create = scenario.jobs.create

    def meanwhile(job):
        for each in acts:
            each()
        acts.clear()
        create(job)

    monkeypatch.setattr(scenario.jobs, "create", meanwhile)


def test_who_waited_for_a_place_in_vain_is_told_so_in_words(scenario):
    scenario.record(error="NoFreePlanSlot", cause="Within a day, there was no free place.")
    assert scenario.layer.reason == "Within a day, there was no free place."


def _take(scenario, job):
    scenario.jobs.hand_over(job, "token", "clone")
    scenario.jobs.take(job, f"arn:task/{job}")


def test_another_attempt_stops_the_runner_of_the_one_before(scenario):
    first = scenario.begin().job
    _take(scenario, first)
    scenario.begin()
    assert scenario.runners.stopped == {}
    scenario.begin(attempt=2, tries=2)
    assert set(scenario.runners.stopped) == {f"arn:task/{first}"}


@pytest.mark.parametrize(
    ("error", "stops"), [("States.HeartbeatTimeout", 1), ("States.Timeout", 1), ("RunnerFault", 0)]
)
def test_the_runner_of_a_plan_that_was_given_up_is_stopped(scenario, error, stops):
    _take(scenario, scenario.begin().job)
    scenario.record(error=error)
    assert len(scenario.runners.stopped) == stops


def test_a_late_failure_stops_no_runner_of_a_plan_that_was_recorded(scenario):
    _take(scenario, scenario.begin().job)
    scenario.record(plan=any_plan())
    scenario.record(error="States.Timeout")
    assert scenario.runners.stopped == {}


def test_a_root_that_is_gone_is_counted_on_the_base_branchs_commit():
    scenario = Scenario(gone=True)
    job = scenario.jobs.get(scenario.begin().job)
    assert (job.sha, job.base_sha, job.merges) == (scenario.layer.base_sha, scenario.layer.base_sha, False)


@pytest.mark.parametrize("message", [{"plan": any_plan()}, {"error": "TerraformClientError", "cause": UNREAD}])
def test_a_root_that_is_gone_has_nothing_to_change_and_fails_nothing(message):
    scenario = Scenario(gone=True)
    scenario.put(state=LayerState.PLANNING)
    scenario.record(**message)
    assert scenario.layer.state is LayerState.NO_CHANGES
    assert scenario.layer.reason == ("" if "plan" in message else "The engine ended with exit code 1.")


def test_what_the_file_destroys_is_planned_so():
    scenario = Scenario(destroy=True)
    assert scenario.jobs.get(scenario.begin().job).destroy

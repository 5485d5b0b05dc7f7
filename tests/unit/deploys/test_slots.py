"""Concurrency slots: taken, waited for, given back, handed on, and repaired."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, amended, any_job, any_layer, any_plan, deployment_in
from tests.fakes.ports import With, changed, port
from tests.stepfunctions.machines import MACHINES
from tests.unit.deploys.cancel_scenario import CancelScenario
from tidegate.check_runs.check_run_view import present_check_run
from tidegate.deploys.rules import slots as rules
from tidegate.deploys.rules.failure import START_REFUSED, in_words, read_cause
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.plan_slots import Precedence
from tidegate.deploys.rules.runner_task import RunnerTask
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Gate
from tidegate.deploys.slots.assign_plan_slots import assign_free_slots
from tidegate.deploys.slots.check_plan_slots import get_waiting_plans
from tidegate.deploys.slots.get_slot_wait import get_slot_wait
from tidegate.deploys.slots.keep_slots import release_slot, release_slots, take_slot
from tidegate.deploys.slots.wait_for_slot import wait_for_slot
from tidegate.jobs.begin_job import begin_job
from tidegate.jobs.runner_stopped import StoppedRunner, report_stopped_runner
from tidegate.messages import BeginJob, WaitForSlot
from tidegate.reconciler import free_slots
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import Conflict, DeploymentCancelled, NoFreeSlot, TooLate, TooManyWait, WrongState
from tidegate.rules.timestamp import LONG_AGO

LIMIT = 1
OTHER = "another"


class Scenario(CancelScenario):
    """One slot, deployments that want it, and what answers their tokens."""

    places, layers = port("plan_slots"), port("speculative_plans")

    def begin(self, deployment, kind="plan", attempt=1):
        return begin_job(self.ports, BeginJob(deployment=deployment.id, phase=kind, attempt=attempt))

    def wait(self, deployment, token="token", *, alive=True, **attempt):
        if alive:
            self.workflows.waiting.add(token)
        wait_for_slot(self.ports, WaitForSlot(deployment=deployment.id, token=token, **attempt))

    def hand_on(self):
        return assign_free_slots(self.ports)

    def reconcile(self):
        turn = ReconcilerPass(self.clock, LONG_AGO)
        turn.until = turn.ago(-60)
        count = free_slots.free_slots(self.ports, turn)
        assert turn.failures == []
        return count

    @property
    def slots_now(self):
        now = self.places.read(INSTALLATION)
        return now.held, now.line


@pytest.fixture
def scenario():
    return Scenario(slot_limit=LIMIT)


@pytest.fixture
def approved(scenario):
    """An approved deployment, while another one has the only slot."""
    take_slot(scenario.ports, OTHER)
    return scenario.in_flight(deployment_in(State.APPROVED))


def test_a_plan_takes_a_slot_and_an_apply_does(scenario):
    queued = scenario.in_flight(deployment_in(State.QUEUED))
    scenario.begin(queued)
    assert scenario.slots_now == ((queued.id,), ())


@pytest.mark.parametrize(("state", "kind"), [(State.QUEUED, "plan"), (State.APPROVED, "apply")])
def test_what_finds_no_slot_begins_nothing_and_is_audited_by_nobody(scenario, state, kind):
    take_slot(scenario.ports, OTHER)
    deployment = scenario.in_flight(deployment_in(state, apply_job=None))
    with pytest.raises(NoFreeSlot, match=r"1 of 1 runners are busy\. It continues automatically"):
        scenario.begin(deployment, kind)
    assert scenario.now(deployment).state is state
    assert scenario.audit.published == []


def test_an_apply_that_comes_from_a_gate_waits_as_one_that_is_approved(scenario):
    take_slot(scenario.ports, OTHER)
    gate = Gate("gate", NOW, next=rules.AfterGate.APPLY)
    deployment = scenario.in_flight(deployment_in(State.GATED, gate=gate))
    with pytest.raises(NoFreeSlot):
        scenario.begin(deployment, "apply")
    assert scenario.now(deployment).state is State.APPROVED


def test_nobody_passes_those_who_wait(scenario, approved):
    scenario.wait(approved)
    release_slots(scenario.ports, [OTHER])
    with pytest.raises(NoFreeSlot, match="0 of 1 runners are busy, and 1 already wait"):
        take_slot(scenario.ports, "newcomer")


def test_a_plan_on_lambda_takes_none_and_takes_one_when_it_moves_to_fargate(scenario):
    queued = scenario.put(deployment_in(State.QUEUED))
    take_slot(scenario.ports, OTHER)
    scenario.ports = changed(scenario.ports, {"TIDEGATE_PLAN_FUNCTION": "3008 MB"})
    scenario.begin(queued)
    assert scenario.slots_now == ((OTHER,), ())
    with pytest.raises(NoFreeSlot):
        scenario.begin(queued, attempt=2)
    scenario.wait(queued)
    assert scenario.slots_now == ((OTHER,), (queued.id,))


def test_who_waits_is_shown_and_goes_on_once_a_slot_is_given_back(scenario, approved):
    scenario.wait(approved)
    waiting = scenario.now(approved)
    assert waiting.slot_since
    assert scenario.event_publisher.announced[-1] == waiting
    assert scenario.slots_now == ((OTHER,), (approved.id,))
    shown = present_check_run(scenario.linked(web="https://tidegate.example"), waiting)
    assert shown.title == "Waiting for a concurrency slot: 1 of 1 runners are busy, position 1"
    assert shown.status == "in_progress"
    assert "You can cancel it there" in shown.summary
    assert scenario.event_publisher.freed == 0

    release_slots(scenario.ports, [OTHER])
    assert scenario.event_publisher.freed == 1
    assert scenario.hand_on() == 1
    assert scenario.workflows.settled == {"token": {}}
    assert scenario.slots_now == ((approved.id,), ())
    assert "A concurrency slot is free" in present_check_run(scenario.ports, waiting).title
    scenario.begin(approved, "apply")
    assert (scenario.now(approved).state, scenario.now(approved).slot_since) == (State.APPLYING, None)
    assert get_slot_wait(scenario.ports, scenario.now(approved)) is None


def test_what_was_put_back_into_its_queue_is_not_shown_as_waiting(scenario):
    assert get_slot_wait(scenario.ports, deployment_in(State.QUEUED, slot_since=NOW)) is None


def test_a_approved_apply_goes_before_plans_and_the_position_says_so(scenario, approved):
    plan = replace(deployment_in(State.QUEUED), id="plan")
    scenario.put(plan)
    scenario.places.join(INSTALLATION, "layer", Precedence.SPECULATION)
    scenario.wait(plan, "plan")
    scenario.wait(approved, "apply")
    positions = [get_slot_wait(scenario.ports, scenario.now(each)).position for each in (approved, plan)]
    assert positions == [1, 2]
    scenario.places.take(REPOSITORY, "layer", 1)
    found = get_waiting_plans(scenario.ports, REPOSITORY, [any_layer(id="layer")])
    assert "position 3" in found.reasons["layer"]
    release_slots(scenario.ports, [OTHER])
    scenario.hand_on()
    assert scenario.slots_now == ((approved.id,), ("layer", "plan"))


def test_a_retried_wait_keeps_its_position_and_goes_on_with_a_slot_that_it_got_meanwhile(scenario, approved):
    scenario.wait(approved, "first", alive=False, entered=NOW, retry=0)
    since = scenario.now(approved).slot_since
    scenario.wait(approved, "second", entered=NOW, retry=1)
    assert (scenario.now(approved).slot_since, scenario.slots_now) == (since, ((OTHER,), (approved.id,)))
    scenario.wait(approved, "late", entered=NOW, retry=0)
    assert scenario.places.token(INSTALLATION, approved.id) == "second"
    scenario.places.leave(INSTALLATION, [OTHER])
    scenario.places.hand_over(INSTALLATION, approved.id, LIMIT)
    scenario.wait(approved, "third", entered=NOW, retry=2)
    scenario.wait(approved, "fourth", alive=False, entered=NOW, retry=3)
    assert scenario.workflows.settled == {"third": {}}


def test_what_does_not_begin_a_job_waits_for_no_slot(scenario):
    reviewed = scenario.in_flight(deployment_in(State.AWAITING_REVIEW))
    with pytest.raises(WrongState, match="waiting for a concurrency slot"):
        scenario.wait(reviewed)


def test_cancelling_ends_the_wait(scenario, approved):
    scenario.wait(approved)
    assert scenario.cancel(approved).done
    assert scenario.workflows.failed["token"][0] == "DeploymentCancelled"
    ending = scenario.in_flight(amended(deployment_in(State.APPROVED, 2), ending=scenario.now(approved).outcome.ending))
    with pytest.raises(DeploymentCancelled):
        scenario.wait(ending)


def test_one_too_many_is_refused(scenario, approved, monkeypatch):
    monkeypatch.setattr(rules, "MOST_WAITING", 0)
    with pytest.raises(TooManyWait, match="Raise runner_slots"):
        scenario.wait(approved)


def test_a_slot_is_kept_while_a_job_runs_and_given_back_after_it(scenario):
    planning = scenario.in_flight(deployment_in(State.PLANNING))
    take_slot(scenario.ports, planning.id)
    release_slot(scenario.ports, planning.id)
    assert scenario.slots_now == ((planning.id,), ())
    scenario.deployments.save(amended(scenario.now(planning), plan=any_plan()))
    for _ in "once more":
        release_slot(scenario.ports, planning.id)
        assert scenario.slots_now == ((), ())
    take_slot(scenario.ports, "gone")
    release_slot(scenario.ports, "gone")
    release_slots(scenario.ports, [])
    assert scenario.slots_now == ((), ())


TASK = "arn:aws:ecs:eu-central-1:123456789012:task/c/1"


@pytest.fixture
def lost(scenario):
    """An apply of which nobody knows how it ended, and whose task goes on."""
    apply = job_id(deployment_in(State.QUEUED).id, JobKind.APPLY, 1)
    unknown = scenario.put(deployment_in(State.OUTCOME_UNKNOWN, apply_job=apply))
    job = any_job(id=unknown.apply.job, kind=JobKind.APPLY)
    scenario.jobs.create(job)
    scenario.jobs.hand_over(job.id, "token", "clone")
    scenario.jobs.take(job.id, TASK)
    take_slot(scenario.ports, unknown.id)
    release_slot(scenario.ports, unknown.id)
    assert scenario.slots_now == ((unknown.id,), ())
    return unknown


def test_an_apply_that_was_lost_keeps_its_slot_until_its_task_has_stopped(scenario, lost):
    report_stopped_runner(scenario.ports, StoppedRunner(TASK, lost.apply.job, None, "stopped"))
    assert scenario.slots_now == ((), ())


def test_the_reconciler_frees_the_slot_of_a_task_that_is_gone_though_nobody_said_so(scenario, lost):
    scenario.runners.tasks = [RunnerTask(TASK, lost.apply.job, NOW)]
    scenario.reconcile()
    assert scenario.slots_now == ((lost.id,), ())
    scenario.runners.tasks = []
    scenario.reconcile()
    assert scenario.slots_now == ((), ())


def test_who_takes_a_slot_once_more_meanwhile_keeps_it(scenario):
    take_slot(scenario.ports, OTHER)
    seen = scenario.places.read(INSTALLATION)
    take_slot(scenario.ports, OTHER)
    with pytest.raises(Conflict):
        scenario.places.free(seen, OTHER)
    assert scenario.slots_now == ((OTHER,), ())


def test_a_begin_that_is_refused_gives_its_slot_back(scenario):
    reviewed = scenario.in_flight(deployment_in(State.AWAITING_REVIEW))
    take_slot(scenario.ports, reviewed.id)
    with pytest.raises(WrongState):
        scenario.begin(reviewed)
    assert scenario.slots_now == ((), ())


def test_a_slot_handed_to_a_token_that_nobody_waits_with_goes_to_the_next(scenario, approved):
    scenario.wait(approved, alive=False)
    second = scenario.in_flight(replace(deployment_in(State.APPROVED, 2), root=replace(approved.root, name="two")))
    scenario.wait(second, "second")
    release_slots(scenario.ports, [OTHER])
    assert scenario.hand_on() == 1
    assert (scenario.slots_now, scenario.workflows.settled) == (((second.id,), ()), {"second": {}})


def test_a_newer_token_keeps_the_slot_that_an_older_one_missed(scenario, approved):
    scenario.wait(approved, "old", alive=False, entered=NOW)

    def missed(_token, _output):
        scenario.places.keep_token(INSTALLATION, approved.id, "new", "3")
        raise TooLate

    release_slots(scenario.ports, [OTHER])
    assert assign_free_slots(changed(scenario.ports, workflows=With(scenario.workflows, settle=missed))) == 0
    assert scenario.slots_now == ((approved.id,), ())


# The reconciler.


def test_the_reconciler_rests_where_nobody_has_a_slot(scenario):
    take_slot(scenario.ports, OTHER)
    release_slots(scenario.ports, [OTHER])
    assert scenario.reconcile() == 0
    assert list(scenario.places.busy()) == []


def test_the_reconciler_frees_what_no_job_needs_and_wakes_the_next(scenario, approved):
    release_slots(scenario.ports, [OTHER])
    ended = scenario.in_flight(replace(deployment_in(State.APPLIED, 2), root=replace(approved.root, name="two")))
    scenario.places.take(INSTALLATION, ended.id, LIMIT)
    scenario.wait(approved)
    assert scenario.reconcile() == 2
    assert (scenario.slots_now, scenario.workflows.settled) == (((approved.id,), ()), {"token": {}})
    scenario.workflows.waiting.add("token")
    assert scenario.reconcile() == 1, "who has a slot and may wait is woken"


def test_the_reconciler_frees_what_waits_in_its_queue_again(scenario):
    queued = deployment_in(State.QUEUED)
    scenario.queues.enqueue(queued)
    scenario.places.take(INSTALLATION, queued.id, LIMIT)
    assert scenario.reconcile() == 1
    taken = scenario.in_flight(replace(deployment_in(State.QUEUED, 2), root=replace(queued.root, name="two")))
    scenario.places.take(INSTALLATION, taken.id, LIMIT)
    assert scenario.reconcile() == 0


def test_the_reconciler_frees_layers_that_ended_or_lost_their_place(scenario):
    layers = [any_layer("a", id="planned", state=LayerState.PLANNED), any_layer("b", id="lost"), any_layer("c", id="c")]
    scenario.layers.create(layers)
    for layer, freed in (("planned", 1), ("lost", 1), ("gone", 1), ("c", 0)):
        scenario.places.take(INSTALLATION, layer, LIMIT)
        if layer == "c":
            scenario.places.take(REPOSITORY, layer, LIMIT)
            scenario.places.join(INSTALLATION, "lost")
        assert scenario.reconcile() == freed
    assert scenario.slots_now == (("c",), ("lost",))


def test_the_reconciler_leaves_a_slot_that_is_taken_meanwhile(scenario, monkeypatch):
    scenario.places.take(INSTALLATION, "gone", LIMIT)

    def refused(*_):
        raise Conflict("slots")

    monkeypatch.setattr(type(scenario.places), "free", refused)
    assert scenario.reconcile() == 0
    monkeypatch.undo()
    reads = iter([scenario.places.read(INSTALLATION), rules.SlotUsage(INSTALLATION)])
    monkeypatch.setattr(type(scenario.places), "read", lambda *_: next(reads, rules.SlotUsage(INSTALLATION)))
    assert scenario.reconcile() == 0


def test_the_reconciler_has_positions_shown_anew(scenario, approved, monkeypatch):
    monkeypatch.setattr(free_slots, "SHOWN", 1)
    scenario.wait(approved)
    second = scenario.in_flight(replace(deployment_in(State.APPROVED, 2), root=replace(approved.root, name="two")))
    scenario.wait(second, "second")
    first = scenario.in_flight(replace(deployment_in(State.APPLYING, 3), root=replace(approved.root, name="three")))
    scenario.places.leave(INSTALLATION, [OTHER])
    scenario.places._places[INSTALLATION] = replace(scenario.places.read(INSTALLATION), held=(first.id,))
    assert scenario.reconcile() == 0
    assert scenario.event_publisher.places == [approved.id]


# Plans of pull requests.


def test_a_layer_that_waits_for_a_slot_says_so(scenario):
    layer = any_layer("a", id="a", state=LayerState.WAITING)
    scenario.places.take(REPOSITORY, "a", LIMIT)
    assert len(get_waiting_plans(scenario.ports, REPOSITORY, [layer])) == 0
    scenario.places.take(INSTALLATION, OTHER, LIMIT)
    scenario.places.join(INSTALLATION, "a")
    found = get_waiting_plans(scenario.ports, REPOSITORY, [layer])
    assert found.reasons == {
        "a": "Waiting for a concurrency slot of the installation: 1 of 1 runners are busy, position 1."
    }
    assert "1 plan waits for a concurrency" in str(found)


@pytest.mark.parametrize("error", sorted(START_REFUSED))
def test_a_start_that_stays_refused_says_what_aws_says(error):
    words = in_words(error, read_cause("The subnet ID 'subnet-1' does not exist"))
    assert words == (
        f"AWS did not start a runner, even after ten retries over several minutes ({error}): The subnet ID "
        "'subnet-1' does not exist"
    )


def test_the_machine_tries_just_these_again():
    starts = [
        state for machine in MACHINES for name, state in machine.states.items() if name.startswith("Start a runner")
    ]
    assert starts
    for state in starts:
        assert set(state["Retry"][0]["ErrorEquals"]) == START_REFUSED

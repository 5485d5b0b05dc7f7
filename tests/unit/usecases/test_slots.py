"""Concurrency slots: taken, waited for, given back, handed on, and repaired."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, amended, any_job, any_layer, any_plan, deployment_in
from tests.fakes.ports import With, changed, port
from tests.stepfunctions.machines import MACHINES
from tests.unit.usecases.cancel_world import CancelWorld
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


class World(CancelWorld):
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
def world():
    return World(slot_limit=LIMIT)


@pytest.fixture
def approved(world):
    """An approved deployment, while another one has the only slot."""
    take_slot(world.ports, OTHER)
    return world.in_flight(deployment_in(State.APPROVED))


def test_a_plan_takes_a_slot_and_an_apply_does(world):
    queued = world.in_flight(deployment_in(State.QUEUED))
    world.begin(queued)
    assert world.slots_now == ((queued.id,), ())


@pytest.mark.parametrize(("state", "kind"), [(State.QUEUED, "plan"), (State.APPROVED, "apply")])
def test_what_finds_no_slot_begins_nothing_and_is_audited_by_nobody(world, state, kind):
    take_slot(world.ports, OTHER)
    deployment = world.in_flight(deployment_in(state, apply_job=None))
    with pytest.raises(NoFreeSlot, match=r"1 of 1 runners are busy\. It continues automatically"):
        world.begin(deployment, kind)
    assert world.now(deployment).state is state
    assert world.audit.published == []


def test_an_apply_that_comes_from_a_gate_waits_as_one_that_is_approved(world):
    take_slot(world.ports, OTHER)
    gate = Gate("gate", NOW, next=rules.AfterGate.APPLY)
    deployment = world.in_flight(deployment_in(State.GATED, gate=gate))
    with pytest.raises(NoFreeSlot):
        world.begin(deployment, "apply")
    assert world.now(deployment).state is State.APPROVED


def test_nobody_passes_those_who_wait(world, approved):
    world.wait(approved)
    release_slots(world.ports, [OTHER])
    with pytest.raises(NoFreeSlot, match="0 of 1 runners are busy, and 1 already wait"):
        take_slot(world.ports, "newcomer")


def test_a_plan_on_lambda_takes_none_and_takes_one_when_it_moves_to_fargate(world):
    queued = world.put(deployment_in(State.QUEUED))
    take_slot(world.ports, OTHER)
    world.ports = changed(world.ports, {"TIDEGATE_PLAN_FUNCTION": "3008 MB"})
    world.begin(queued)
    assert world.slots_now == ((OTHER,), ())
    with pytest.raises(NoFreeSlot):
        world.begin(queued, attempt=2)
    world.wait(queued)
    assert world.slots_now == ((OTHER,), (queued.id,))


def test_who_waits_is_shown_and_goes_on_once_a_slot_is_given_back(world, approved):
    world.wait(approved)
    waiting = world.now(approved)
    assert waiting.slot_since
    assert world.event_publisher.announced[-1] == waiting
    assert world.slots_now == ((OTHER,), (approved.id,))
    shown = present_check_run(world.linked(web="https://tidegate.example"), waiting)
    assert shown.title == "Waiting for a concurrency slot: 1 of 1 runners are busy, position 1"
    assert shown.status == "in_progress"
    assert "You can cancel it there" in shown.summary
    assert world.event_publisher.freed == 0

    release_slots(world.ports, [OTHER])
    assert world.event_publisher.freed == 1
    assert world.hand_on() == 1
    assert world.workflows.settled == {"token": {}}
    assert world.slots_now == ((approved.id,), ())
    assert "A concurrency slot is free" in present_check_run(world.ports, waiting).title
    world.begin(approved, "apply")
    assert (world.now(approved).state, world.now(approved).slot_since) == (State.APPLYING, None)
    assert get_slot_wait(world.ports, world.now(approved)) is None


def test_what_was_put_back_into_its_queue_is_not_shown_as_waiting(world):
    assert get_slot_wait(world.ports, deployment_in(State.QUEUED, slot_since=NOW)) is None


def test_a_confirmed_apply_goes_before_plans_and_the_position_says_so(world, approved):
    plan = replace(deployment_in(State.QUEUED), id="plan")
    world.put(plan)
    world.places.join(INSTALLATION, "layer", Precedence.SPECULATION)
    world.wait(plan, "plan")
    world.wait(approved, "apply")
    positions = [get_slot_wait(world.ports, world.now(each)).position for each in (approved, plan)]
    assert positions == [1, 2]
    world.places.take(REPOSITORY, "layer", 1)
    found = get_waiting_plans(world.ports, REPOSITORY, [any_layer(id="layer")])
    assert "position 3" in found.reasons["layer"]
    release_slots(world.ports, [OTHER])
    world.hand_on()
    assert world.slots_now == ((approved.id,), ("layer", "plan"))


def test_a_retried_wait_keeps_its_position_and_goes_on_with_a_slot_that_it_got_meanwhile(world, approved):
    world.wait(approved, "first", alive=False, entered=NOW, retry=0)
    since = world.now(approved).slot_since
    world.wait(approved, "second", entered=NOW, retry=1)
    assert (world.now(approved).slot_since, world.slots_now) == (since, ((OTHER,), (approved.id,)))
    world.wait(approved, "late", entered=NOW, retry=0)
    assert world.places.token(INSTALLATION, approved.id) == "second"
    world.places.leave(INSTALLATION, [OTHER])
    world.places.hand_over(INSTALLATION, approved.id, LIMIT)
    world.wait(approved, "third", entered=NOW, retry=2)
    world.wait(approved, "fourth", alive=False, entered=NOW, retry=3)
    assert world.workflows.settled == {"third": {}}


def test_what_does_not_begin_a_job_waits_for_no_slot(world):
    reviewed = world.in_flight(deployment_in(State.AWAITING_REVIEW))
    with pytest.raises(WrongState, match="waiting for a concurrency slot"):
        world.wait(reviewed)


def test_cancelling_ends_the_wait(world, approved):
    world.wait(approved)
    assert world.cancel(approved).done
    assert world.workflows.failed["token"][0] == "DeploymentCancelled"
    ending = world.in_flight(amended(deployment_in(State.APPROVED, 2), ending=world.now(approved).outcome.ending))
    with pytest.raises(DeploymentCancelled):
        world.wait(ending)


def test_one_too_many_is_refused(world, approved, monkeypatch):
    monkeypatch.setattr(rules, "MOST_WAITING", 0)
    with pytest.raises(TooManyWait, match="Raise runner_slots"):
        world.wait(approved)


def test_a_slot_is_kept_while_a_job_runs_and_given_back_after_it(world):
    planning = world.in_flight(deployment_in(State.PLANNING))
    take_slot(world.ports, planning.id)
    release_slot(world.ports, planning.id)
    assert world.slots_now == ((planning.id,), ())
    world.deployments.save(amended(world.now(planning), plan=any_plan()))
    for _ in "once more":
        release_slot(world.ports, planning.id)
        assert world.slots_now == ((), ())
    take_slot(world.ports, "gone")
    release_slot(world.ports, "gone")
    release_slots(world.ports, [])
    assert world.slots_now == ((), ())


TASK = "arn:aws:ecs:eu-central-1:123456789012:task/c/1"


@pytest.fixture
def lost(world):
    """An apply of which nobody knows how it ended, and whose task goes on."""
    apply = job_id(deployment_in(State.QUEUED).id, JobKind.APPLY, 1)
    unknown = world.put(deployment_in(State.OUTCOME_UNKNOWN, apply_job=apply))
    job = any_job(id=unknown.apply.job, kind=JobKind.APPLY)
    world.jobs.create(job)
    world.jobs.hand_over(job.id, "token", "clone")
    world.jobs.take(job.id, TASK)
    take_slot(world.ports, unknown.id)
    release_slot(world.ports, unknown.id)
    assert world.slots_now == ((unknown.id,), ())
    return unknown


def test_an_apply_that_was_lost_keeps_its_slot_until_its_task_has_stopped(world, lost):
    report_stopped_runner(world.ports, StoppedRunner(TASK, lost.apply.job, None, "stopped"))
    assert world.slots_now == ((), ())


def test_the_reconciler_frees_the_slot_of_a_task_that_is_gone_though_nobody_said_so(world, lost):
    world.runners.tasks = [RunnerTask(TASK, lost.apply.job, NOW)]
    world.reconcile()
    assert world.slots_now == ((lost.id,), ())
    world.runners.tasks = []
    world.reconcile()
    assert world.slots_now == ((), ())


def test_who_takes_a_slot_once_more_meanwhile_keeps_it(world):
    take_slot(world.ports, OTHER)
    seen = world.places.read(INSTALLATION)
    take_slot(world.ports, OTHER)
    with pytest.raises(Conflict):
        world.places.free(seen, OTHER)
    assert world.slots_now == ((OTHER,), ())


def test_a_begin_that_is_refused_gives_its_slot_back(world):
    reviewed = world.in_flight(deployment_in(State.AWAITING_REVIEW))
    take_slot(world.ports, reviewed.id)
    with pytest.raises(WrongState):
        world.begin(reviewed)
    assert world.slots_now == ((), ())


def test_a_slot_handed_to_a_token_that_nobody_waits_with_goes_to_the_next(world, approved):
    world.wait(approved, alive=False)
    second = world.in_flight(replace(deployment_in(State.APPROVED, 2), root=replace(approved.root, name="two")))
    world.wait(second, "second")
    release_slots(world.ports, [OTHER])
    assert world.hand_on() == 1
    assert (world.slots_now, world.workflows.settled) == (((second.id,), ()), {"second": {}})


def test_a_newer_token_keeps_the_slot_that_an_older_one_missed(world, approved):
    world.wait(approved, "old", alive=False, entered=NOW)

    def missed(_token, _output):
        world.places.keep_token(INSTALLATION, approved.id, "new", "3")
        raise TooLate

    release_slots(world.ports, [OTHER])
    assert assign_free_slots(changed(world.ports, workflows=With(world.workflows, settle=missed))) == 0
    assert world.slots_now == ((approved.id,), ())


# The reconciler.


def test_the_reconciler_rests_where_nobody_has_a_slot(world):
    take_slot(world.ports, OTHER)
    release_slots(world.ports, [OTHER])
    assert world.reconcile() == 0
    assert list(world.places.busy()) == []


def test_the_reconciler_frees_what_no_job_needs_and_wakes_the_next(world, approved):
    release_slots(world.ports, [OTHER])
    ended = world.in_flight(replace(deployment_in(State.APPLIED, 2), root=replace(approved.root, name="two")))
    world.places.take(INSTALLATION, ended.id, LIMIT)
    world.wait(approved)
    assert world.reconcile() == 2
    assert (world.slots_now, world.workflows.settled) == (((approved.id,), ()), {"token": {}})
    world.workflows.waiting.add("token")
    assert world.reconcile() == 1, "who has a slot and may wait is woken"


def test_the_reconciler_frees_what_waits_in_its_queue_again(world):
    queued = deployment_in(State.QUEUED)
    world.queues.enqueue(queued)
    world.places.take(INSTALLATION, queued.id, LIMIT)
    assert world.reconcile() == 1
    taken = world.in_flight(replace(deployment_in(State.QUEUED, 2), root=replace(queued.root, name="two")))
    world.places.take(INSTALLATION, taken.id, LIMIT)
    assert world.reconcile() == 0


def test_the_reconciler_frees_layers_that_ended_or_lost_their_place(world):
    layers = [any_layer("a", id="planned", state=LayerState.PLANNED), any_layer("b", id="lost"), any_layer("c", id="c")]
    world.layers.create(layers)
    for layer, freed in (("planned", 1), ("lost", 1), ("gone", 1), ("c", 0)):
        world.places.take(INSTALLATION, layer, LIMIT)
        if layer == "c":
            world.places.take(REPOSITORY, layer, LIMIT)
            world.places.join(INSTALLATION, "lost")
        assert world.reconcile() == freed
    assert world.slots_now == (("c",), ("lost",))


def test_the_reconciler_leaves_a_slot_that_is_taken_meanwhile(world, monkeypatch):
    world.places.take(INSTALLATION, "gone", LIMIT)

    def refused(*_):
        raise Conflict("slots")

    monkeypatch.setattr(type(world.places), "free", refused)
    assert world.reconcile() == 0
    monkeypatch.undo()
    reads = iter([world.places.read(INSTALLATION), rules.SlotUsage(INSTALLATION)])
    monkeypatch.setattr(type(world.places), "read", lambda *_: next(reads, rules.SlotUsage(INSTALLATION)))
    assert world.reconcile() == 0


def test_the_reconciler_has_positions_shown_anew(world, approved, monkeypatch):
    monkeypatch.setattr(free_slots, "SHOWN", 1)
    world.wait(approved)
    second = world.in_flight(replace(deployment_in(State.APPROVED, 2), root=replace(approved.root, name="two")))
    world.wait(second, "second")
    first = world.in_flight(replace(deployment_in(State.APPLYING, 3), root=replace(approved.root, name="three")))
    world.places.leave(INSTALLATION, [OTHER])
    world.places._places[INSTALLATION] = replace(world.places.read(INSTALLATION), held=(first.id,))
    assert world.reconcile() == 0
    assert world.event_publisher.places == [approved.id]


# Plans of pull requests.


def test_a_layer_that_waits_for_a_slot_says_so(world):
    layer = any_layer("a", id="a", state=LayerState.WAITING)
    world.places.take(REPOSITORY, "a", LIMIT)
    assert len(get_waiting_plans(world.ports, REPOSITORY, [layer])) == 0
    world.places.take(INSTALLATION, OTHER, LIMIT)
    world.places.join(INSTALLATION, "a")
    found = get_waiting_plans(world.ports, REPOSITORY, [layer])
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

"""The queue's use cases one by one. What they do together, the queue machine in tests/contract drives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from tests.builders import NOW, any_deployed, any_deployment, any_job, any_lock, any_queue, any_revision, deployment_in
from tidegate.adapters.memory import (
    MemoryAnnouncements,
    MemoryAuditLog,
    MemoryClock,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryForge,
    MemoryJobs,
    MemoryWorkflows,
)
from tidegate.domain.deployment import State, Trigger, Unlocking
from tidegate.domain.errors import CloudUnavailable, Conflict, ForgeUnavailable
from tidegate.domain.job import JobKind
from tidegate.domain.queue import QueueHead, Worker
from tidegate.domain.revision import Comparison
from tidegate.messages import (
    ClaimDeployment,
    CloseWorker,
    HandOverWorker,
    RecordOutcome,
    ValidateRevision,
    WaitForSignal,
)
from tidegate.usecases.claim_deployment import DeploymentClaimer
from tidegate.usecases.close_worker import WorkerCloser
from tidegate.usecases.decide_again import TRIES, deciding_again
from tidegate.usecases.end_deployment import DeploymentEnder
from tidegate.usecases.enqueue import Enqueuer
from tidegate.usecases.ensure_worker import WorkerEnsurer
from tidegate.usecases.execution_closed import ClosedExecution, QueueReleaser
from tidegate.usecases.finish import Finisher
from tidegate.usecases.hand_over_worker import WorkerHandover
from tidegate.usecases.record_outcome import OutcomeRecorder
from tidegate.usecases.unlock import QueueUnlocker
from tidegate.usecases.validate_revision import RevisionValidator
from tidegate.usecases.wait_for_signal import SignalWaiter

QUEUE = any_queue()
LATER = "2026-03-02T12:00:00.000000+00:00"
TOKEN = "token"


@dataclass
class World:
    deployments: MemoryDeployments = field(default_factory=MemoryDeployments)
    jobs: MemoryJobs = field(default_factory=MemoryJobs)
    workflows: MemoryWorkflows = field(default_factory=MemoryWorkflows)
    announcements: MemoryAnnouncements = field(default_factory=MemoryAnnouncements)
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    forge: MemoryForge = field(default_factory=MemoryForge)

    def __post_init__(self):
        self.queues = MemoryDeployQueues(self.deployments)
        clock = MemoryClock()
        workers = self.workers = WorkerEnsurer(self.queues, self.workflows)
        finisher = Finisher(self.deployments, self.jobs, self.audit)
        ender = DeploymentEnder(self.queues, self.jobs, finisher, self.announcements, clock)
        self.enqueuer = Enqueuer(self.queues, self.deployments, self.audit, self.announcements, workers)
        self.claimer = DeploymentClaimer(self.queues, self.announcements)
        self.validator = RevisionValidator(self.queues, self.forge, self.announcements, clock)
        self.recorder = OutcomeRecorder(self.queues, ender)
        self.waiter = SignalWaiter(self.queues, self.workflows)
        self.closer = WorkerCloser(self.queues)
        self.handover = WorkerHandover(self.queues, workers)
        self.releaser = QueueReleaser(self.queues, self.deployments, self.announcements, ender, workers)
        self.unlocker = QueueUnlocker(self.queues, self.deployments, self.audit, self.announcements, workers)

    def lock_by(self, deployment) -> None:
        """Lock the queue, as a deployment does."""
        self.deployments.add(deployment)
        self.change(lock=any_lock(revision=deployment.revision.sha, deployment=deployment.id))

    def unlock(self, by="reviewer", at=NOW):
        return self.unlocker.unlock(QUEUE, Unlocking(by, at))

    @property
    def head(self) -> QueueHead:
        return self.queues.read(QUEUE)[0]

    @property
    def line(self) -> list[str]:
        return [waiting.deployment for waiting in self.queues.waiting(QUEUE)]

    def change(self, **fields):
        return self.queues.commit(self.head, replace(self.head, **fields))

    def claim(self, rounds=0, execution=None):
        worker = self.head.worker.execution if self.head.worker else ""
        return self.claimer.claim(ClaimDeployment(queue=QUEUE, execution=execution or worker, rounds=rounds))

    def in_flight(self, deployment):
        """Bring a deployment in flight in any state, and return its worker's execution."""
        self.enqueuer.enqueue(replace(deployment, state=State.QUEUED))
        self.claim()
        self.deployments.save(
            replace(self.deployments.get(deployment.id), state=deployment.state, plan=deployment.plan)
        )
        return self.head.worker.execution

    def waits(self, token=TOKEN):
        """Let the worker wait for a signal."""
        claimed = self.claim()
        assert claimed.step == "wait"
        self.workflows.waiting.add(token)
        return self.wait(claimed.version, token)

    def wait(self, version, token=TOKEN, execution=None):
        execution = execution or self.head.worker.execution
        message = WaitForSignal(queue=QUEUE, execution=execution, version=version, token=token)
        self.waiter.wait(message)
        return message

    def validate(self, deployment):
        return self.validator.validate(ValidateRevision(queue=QUEUE, deployment=deployment.id))

    def record(self, deployment, error=None):
        return self.recorder.record(RecordOutcome(queue=QUEUE, deployment=deployment.id, error=error)).state


@pytest.fixture
def world():
    return World()


@pytest.fixture
def idle(world):
    """A world whose worker waits for a signal, after a first deployment."""
    world.in_flight(deployment_in(State.APPLIED))
    world.record(any_deployment())
    world.waits()
    return world


# Enqueue, and make sure of a worker


def test_an_enqueued_deployment_is_announced_and_gets_a_worker(world):
    assert world.enqueuer.enqueue(any_deployment())
    assert world.announcements.announced == [any_deployment().begun()]
    assert world.announcements.lines == [QUEUE]
    assert world.workflows.starts == [(world.head.worker.execution, QUEUE)]


def test_enqueued_twice_a_deployment_is_in_line_once_and_shown_as_it_is(world):
    world.enqueuer.enqueue(any_deployment())
    stored = world.deployments.save(replace(any_deployment().begun(), reason="Something happened."))
    assert not world.enqueuer.enqueue(any_deployment())
    assert world.line == [any_deployment().id]
    assert world.announcements.announced[-1] == stored
    assert len(world.workflows.starts) == 1


def test_a_throttled_start_is_made_up_for_when_the_message_comes_again(world):
    world.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        world.enqueuer.enqueue(any_deployment())
    assert world.workflows.starts == []
    world.enqueuer.enqueue(any_deployment())
    assert world.workflows.starts == [(world.head.worker.execution, QUEUE)]
    assert world.head.generation == 1


def test_a_worker_at_work_is_left_alone(world):
    world.in_flight(any_deployment())
    world.enqueuer.enqueue(any_deployment(2))
    assert len(world.workflows.starts) == 1
    assert world.workflows.settled == {}


def test_a_waiting_worker_is_woken(idle):
    idle.enqueuer.enqueue(any_deployment(2))
    assert list(idle.workflows.settled) == ["token"]


def test_a_throttled_wake_up_is_made_up_for(idle):
    idle.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        idle.enqueuer.enqueue(any_deployment(2))
    idle.workers.ensure(QUEUE)
    assert list(idle.workflows.settled) == ["token"]


def test_a_wake_up_that_comes_too_late_is_no_error(idle):
    idle.workflows.waiting.clear()
    idle.enqueuer.enqueue(any_deployment(2))
    assert idle.line == [any_deployment(2).id]


def test_a_locked_queue_does_not_wake_its_worker_for_a_merge(idle):
    idle.change(lock=any_lock())
    idle.enqueuer.enqueue(any_deployment(2))
    assert idle.workflows.settled == {}
    idle.enqueuer.enqueue(any_deployment(3, trigger=Trigger.MANUAL))
    assert list(idle.workflows.settled) == ["token"]


def test_an_empty_queue_gets_no_worker(world):
    world.workers.ensure(QUEUE)
    assert world.workflows.starts == []


# Claim


def test_a_claim_takes_the_first_in_line_once(world):
    world.enqueuer.enqueue(any_deployment(1))
    world.enqueuer.enqueue(any_deployment(2))
    first, again = world.claim(), world.claim(rounds=1)
    assert (first.step, first.deployment) == ("deploy", any_deployment(1).id)
    assert again.deployment == first.deployment
    assert world.line == [any_deployment(2).id]
    assert world.head.worker.started


def test_a_stranger_claims_nothing(world):
    world.enqueuer.enqueue(any_deployment())
    claimed = world.claim(execution="stranger")
    assert (claimed.step, claimed.deployment) == ("stop", None)
    assert world.head.in_flight is None


def test_a_worker_with_nothing_to_take_waits_at_the_version_that_it_saw(world):
    world.enqueuer.enqueue(any_deployment())
    world.change(lock=any_lock())
    claimed = world.claim()
    assert (claimed.step, claimed.version) == ("wait", world.head.version)
    assert world.claim(rounds=1) == claimed


# Wait, close, hand over


def test_a_worker_that_looked_at_an_older_queue_is_woken_at_once(world):
    world.enqueuer.enqueue(any_deployment())
    world.lock_by(any_deployment(9))
    claimed = world.claim()
    world.unlock()
    world.workflows.waiting.add("token")
    world.wait(claimed.version)
    assert list(world.workflows.settled) == ["token"]
    assert world.head.token is None


def test_an_execution_that_lost_its_queue_is_woken_at_once(idle):
    idle.workflows.waiting.add("other")
    idle.wait(idle.head.version, "other", execution="stranger")
    assert list(idle.workflows.settled) == ["other"]
    assert idle.head.token == "token"


def test_a_token_is_left_once(idle):
    before = idle.head
    idle.wait(before.version - 1)
    assert idle.head == before
    assert idle.workflows.settled == {}


def test_waking_a_worker_that_has_timed_out_is_no_error(idle):
    idle.wait(0, "gone")
    assert idle.head.token == "token"


def test_an_idle_worker_is_closed_and_the_next_deployment_gets_the_next_one(idle):
    execution = idle.head.worker.execution
    message = CloseWorker(queue=QUEUE, execution=execution)
    assert idle.closer.close(message).closed
    assert idle.closer.close(message).closed
    assert (idle.head.worker, idle.head.token) == (None, None)
    idle.enqueuer.enqueue(any_deployment(2))
    assert [name for name, _ in idle.workflows.starts] == [execution, idle.head.worker.execution]
    assert idle.head.generation == 2


def test_a_worker_is_not_closed_when_there_is_work(idle):
    idle.enqueuer.enqueue(any_deployment(2))
    message = CloseWorker(queue=QUEUE, execution=idle.head.worker.execution)
    assert not idle.closer.close(message).closed
    assert idle.head.worker is not None


def test_a_queue_is_handed_over_to_the_next_generation_once(world):
    world.enqueuer.enqueue(any_deployment())
    old = world.head.worker.execution
    message = HandOverWorker(queue=QUEUE, execution=old)
    world.handover.hand_over(message)
    world.handover.hand_over(message)
    assert world.head.worker == Worker(world.head.worker.execution, 2)
    assert [name for name, _ in world.workflows.starts] == [old, world.head.worker.execution]


# Validate


def test_the_first_revision_is_compared_with_its_branch_only(world):
    world.in_flight(any_deployment())
    assert world.validate(any_deployment()).allowed
    assert world.forge.compared == [(any_revision().sha, "main")]
    assert world.deployments.get(any_deployment().id).state is State.PLANNING


def test_the_revision_deployed_last_may_be_deployed_again(world):
    world.change(deployed=any_deployed())
    world.in_flight(any_deployment())
    assert world.validate(any_deployment()).allowed
    assert world.forge.compared == [(any_revision().sha, "main")]


def related(world, first, second, how):
    """Say how two commits (their numbers), or a commit and a branch, relate."""
    names = [any_revision(each).sha if isinstance(each, int) else each for each in (first, second)]
    world.forge.comparisons[names[0], names[1]] = how


def test_a_revision_that_is_behind_another_branch_is_refused(world):
    world.change(deployed=any_deployed(2))
    related(world, 2, 1, Comparison.BEHIND)
    related(world, 2, "main", Comparison.DIVERGED)
    world.in_flight(any_deployment(1))
    first, again = world.validate(any_deployment(1)), world.validate(any_deployment(1))
    assert not first.allowed
    assert again == first
    refused = world.deployments.get(any_deployment(1).id)
    assert (refused.state, refused.reason) == (State.REFUSED, first.reason)


def test_a_merge_that_a_newer_one_has_overtaken_is_superseded(world):
    world.change(deployed=any_deployed(2))
    related(world, 2, 1, Comparison.BEHIND)
    world.in_flight(any_deployment(1))
    assert not world.validate(any_deployment(1)).allowed
    assert world.record(any_deployment(1)) == "superseded"
    assert (world.head.deployed, world.head.attempted) == (any_deployed(2), None)


def test_a_deploy_by_hand_is_never_superseded(world):
    manual = any_deployment(1, trigger=Trigger.MANUAL)
    world.change(deployed=any_deployed(2))
    related(world, 2, 1, Comparison.BEHIND)
    world.in_flight(manual)
    assert not world.validate(manual).allowed
    assert world.record(manual) == "refused"
    assert world.head.lock is None


def test_a_merge_that_left_its_branch_while_it_waited_must_be_reviewed(world):
    related(world, 1, "main", Comparison.DIVERGED)
    world.in_flight(any_deployment())
    assert world.validate(any_deployment()).allowed
    assert "rewritten" in world.deployments.get(any_deployment().id).must_review


@pytest.mark.parametrize("trigger", [Trigger.MERGE, Trigger.RERUN])
def test_a_commit_that_does_not_exist_any_more_is_refused_and_blocks_nothing(world, trigger):
    gone, later = any_deployment(1, trigger=trigger), any_deployment(2)
    related(world, 1, "main", Comparison.BASE_MISSING)
    world.in_flight(gone)
    world.enqueuer.enqueue(later)
    assert not world.validate(gone).allowed
    assert world.record(gone) == "refused"
    assert world.claim().deployment == later.id


def test_a_commit_that_vanished_before_a_deploy_by_hand_is_refused(world):
    manual = any_deployment(1, trigger=Trigger.MANUAL)
    world.change(deployed=any_deployed(2))
    related(world, 2, 1, Comparison.HEAD_MISSING)
    world.in_flight(manual)
    assert not world.validate(manual).allowed


def test_only_the_latest_attempt_is_run_again(world):
    again = any_deployment(1, trigger=Trigger.RERUN)
    world.change(attempted=any_deployed(2))
    world.in_flight(again)
    refused = world.validate(again)
    assert not refused.allowed
    assert any_revision(2).short in refused.reason


@pytest.mark.parametrize("attempted", [None, any_deployed(1)])
def test_the_latest_attempt_may_be_run_again_from_the_default_branch(world, attempted):
    again = any_deployment(1, trigger=Trigger.RERUN)
    world.change(attempted=attempted)
    world.in_flight(again)
    assert world.validate(again).allowed
    assert world.head.lock is None


def test_what_is_not_on_the_default_branch_is_not_run_again(world):
    again = any_deployment(1, trigger=Trigger.RERUN)
    related(world, 1, "main", Comparison.DIVERGED)
    world.in_flight(again)
    assert "default branch" in world.validate(again).reason


# Lock


def manual(state=State.QUEUED, number=1, **fields):
    return deployment_in(state, number, trigger=Trigger.MANUAL, **fields)


def test_a_deploy_by_hand_locks_when_it_is_let_in_and_names_who_when_and_what(world):
    world.in_flight(manual())
    assert world.head.lock is None
    world.validate(manual())
    lock = world.head.lock
    assert (lock.by, lock.revision, lock.deployment) == ("maintainer", any_revision().sha, manual().id)
    assert lock.at == world.deployments.get(manual().id).changed_at
    assert world.announcements.lines[-1] == QUEUE


def test_validated_again_a_deploy_by_hand_does_not_lock_again(world):
    world.in_flight(manual())
    world.validate(manual())
    world.unlock(at=LATER)
    assert world.validate(manual()).allowed
    assert world.head.lock is None


@pytest.mark.parametrize("state", [State.REJECTED, State.REVIEW_EXPIRED, State.PLAN_FAILED, State.ENGINE_FAULT])
def test_a_deploy_by_hand_that_changed_nothing_takes_its_lock_with_it(world, state):
    world.in_flight(manual())
    world.validate(manual())
    world.deployments.save(replace(world.deployments.get(manual().id), state=state))
    world.record(manual())
    assert world.head.lock is None
    assert world.head.attempted.deployment == manual().id


@pytest.mark.parametrize("state", [State.APPLIED, State.NO_CHANGES, State.APPLY_FAILED])
def test_the_lock_of_a_deploy_by_hand_stays_when_it_may_have_changed_something(world, state):
    world.in_flight(manual())
    world.validate(manual())
    world.deployments.save(replace(world.deployments.get(manual().id), state=state))
    world.record(manual())
    assert world.head.lock.deployment == manual().id


def test_a_rejected_deploy_by_hand_gives_back_the_lock_that_it_found(world):
    found = any_lock(deployment="earlier")
    world.change(lock=found)
    world.in_flight(manual())
    world.validate(manual())
    assert world.head.lock.deployment == manual().id
    world.deployments.save(replace(world.deployments.get(manual().id), state=State.REJECTED))
    world.record(manual())
    assert world.head.lock == found


def test_an_unlock_while_a_deploy_by_hand_runs_holds_after_its_end(world):
    world.in_flight(manual())
    world.validate(manual())
    assert world.unlock(at=LATER).done
    world.deployments.save(replace(world.deployments.get(manual().id), state=State.APPLIED))
    world.record(manual())
    assert world.head.lock is None
    assert world.deployments.get(manual().id).unlocked == Unlocking("reviewer", LATER)


def test_an_outcome_that_is_unknown_locks_although_the_queue_was_unlocked(world):
    world.in_flight(manual())
    world.validate(manual())
    assert world.unlock(at=LATER).done
    world.deployments.save(replace(world.deployments.get(manual().id), state=State.OUTCOME_UNKNOWN))
    world.record(manual())
    assert world.head.lock.by == "tidegate"


def test_a_diverged_revision_must_be_reviewed(world):
    world.change(deployed=any_deployed(2))
    world.forge.comparison = Comparison.DIVERGED
    world.in_flight(any_deployment(1))
    assert world.validate(any_deployment(1)).allowed
    before = world.deployments.get(any_deployment(1).id)
    assert before.must_review
    assert world.validate(any_deployment(1)).allowed
    assert world.deployments.get(any_deployment(1).id) == before


def test_a_deployment_that_has_begun_is_not_judged_again(world):
    world.change(deployed=any_deployed(2))
    world.in_flight(deployment_in(State.AWAITING_REVIEW))
    assert world.validate(any_deployment()).allowed
    assert world.forge.compared == []


def test_a_deployment_that_is_not_in_flight_is_not_judged(world):
    world.enqueuer.enqueue(any_deployment())
    assert not world.validate(any_deployment()).allowed
    assert world.deployments.get(any_deployment().id) == any_deployment().begun()


def test_without_the_forge_nothing_is_decided(world):
    world.change(deployed=any_deployed(2))
    world.in_flight(any_deployment(1))
    world.forge.failures = [ForgeUnavailable("status 500")]
    with pytest.raises(ForgeUnavailable):
        world.validate(any_deployment(1))
    assert world.deployments.get(any_deployment(1).id).state is State.QUEUED


# Record the outcome


def test_an_applied_deployment_becomes_the_baseline_and_frees_the_queue(world):
    world.in_flight(deployment_in(State.APPLIED))
    assert world.record(any_deployment()) == "applied"
    assert world.head.in_flight is None
    assert world.head.deployed == world.head.attempted == any_deployed()
    assert world.head.lock is None


def test_an_outcome_is_recorded_once_and_announced_again(world):
    world.in_flight(deployment_in(State.APPLIED))
    world.record(any_deployment())
    before, announced = world.head, len(world.announcements.announced)
    assert world.record(any_deployment(), "States.Timeout") == "applied"
    assert world.head == before
    assert len(world.announcements.announced) == announced + 1


def test_a_rejected_deployment_leaves_the_baseline(world):
    world.change(deployed=any_deployed(9))
    world.in_flight(deployment_in(State.REJECTED))
    world.record(any_deployment())
    assert world.head.deployed == any_deployed(9)
    assert world.head.attempted == any_deployed(state=State.REJECTED)


def applying(world, *, taken):
    """Bring a deployment in flight whose apply has begun."""
    job = any_job(JobKind.APPLY)
    execution = world.in_flight(deployment_in(State.APPLYING))
    world.deployments.save(replace(world.deployments.get(any_deployment().id), apply_job=job.id))
    world.jobs.create(job)
    world.jobs.hand_over(job.id, "token", "clone")
    if taken:
        world.jobs.take(job.id, "runner")
    return execution


def test_an_apply_without_a_result_is_unknown_audited_and_locks_the_queue(world):
    applying(world, taken=True)
    world.enqueuer.enqueue(any_deployment(2))
    assert world.record(any_deployment(), "States.Timeout") == "outcome_unknown"
    assert world.head.lock.revision == any_revision().sha
    assert world.audit.states == ["UNKNOWN"]
    assert world.announcements.refreshed == [any_deployment().id]
    assert world.announcements.lines[-1] == QUEUE
    assert world.claim().step == "wait"


def test_an_apply_that_no_runner_took_is_closed_and_ends_as_a_fault(world):
    applying(world, taken=False)
    assert world.record(any_deployment(), "States.Timeout") == "engine_fault"
    assert not world.jobs.hand_over(any_job(JobKind.APPLY).id, "token", "clone")
    assert world.head.lock is None


def test_without_audit_an_apply_does_not_end(world):
    applying(world, taken=True)
    world.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        world.record(any_deployment())
    assert world.head.in_flight == any_deployment().id
    world.audit.unavailable = False
    assert world.record(any_deployment()) == "outcome_unknown"


def test_a_lock_outlives_a_deployment_that_puts_none(world):
    world.change(lock=any_lock())
    manual = deployment_in(State.REJECTED, trigger=Trigger.MANUAL)
    world.in_flight(manual)
    world.record(manual)
    assert world.head.lock == any_lock()


class FailingAnnouncements(MemoryAnnouncements):
    """Announcements whose next calls fail, as many as ``refusals`` says."""

    refusals = 0

    def changed(self, deployment):
        self._refuse()
        super().changed(deployment)

    def refresh(self, deployment):
        self._refuse()
        super().refresh(deployment)

    def _refuse(self):
        if self.refusals:
            self.refusals -= 1
            raise CloudUnavailable("SQS", "RequestThrottled")


@pytest.fixture
def unheard():
    """A world whose announcements fail when ``announcements.refusals`` says so."""
    return World(announcements=FailingAnnouncements())


def test_an_outcome_whose_announcement_failed_is_announced_with_its_lock_by_the_retry(unheard):
    applying(unheard, taken=True)
    unheard.enqueuer.enqueue(any_deployment(2))
    unheard.announcements.refusals = 1
    with pytest.raises(CloudUnavailable):
        unheard.record(any_deployment(), "States.Timeout")
    assert unheard.record(any_deployment(), "States.Timeout") == "outcome_unknown"
    assert unheard.announcements.announced[-1].state is State.OUTCOME_UNKNOWN
    assert unheard.announcements.refreshed == [any_deployment().id]


# Executions that close otherwise


def release(world, execution, status="ABORTED"):
    world.releaser.release(ClosedExecution(QUEUE, execution, status))


def test_a_deployment_that_has_not_begun_returns_to_the_line_and_gets_a_new_worker(world):
    execution = world.in_flight(any_deployment(1))
    world.enqueuer.enqueue(any_deployment(2))
    release(world, execution)
    assert world.line == [any_deployment(1).id, any_deployment(2).id]
    assert world.head.in_flight is None
    assert world.workflows.starts[-1] == (world.head.worker.execution, QUEUE)
    assert world.head.worker.execution != execution


@pytest.mark.parametrize("state", [State.PLANNING, State.AWAITING_REVIEW, State.APPROVED])
def test_a_deployment_that_has_begun_ends_as_a_fault(world, state):
    execution = world.in_flight(deployment_in(state))
    release(world, execution)
    ended = world.deployments.get(any_deployment().id)
    assert ended.state is State.ENGINE_FAULT
    assert "ABORTED" in ended.reason
    assert (world.head.worker, world.head.in_flight, world.line) == (None, None, [])


def test_a_deployment_that_had_ended_is_recorded(world):
    execution = world.in_flight(deployment_in(State.APPLIED))
    release(world, execution, "FAILED")
    assert world.head.deployed == any_deployed()
    assert world.head.in_flight is None


def test_an_apply_that_was_running_is_unknown(world):
    release(world, applying(world, taken=True))
    assert world.deployments.get(any_deployment().id).state is State.OUTCOME_UNKNOWN
    assert world.head.lock is not None


def test_after_a_failure_of_its_own_the_reconciler_starts_the_new_worker(world):
    execution = world.in_flight(any_deployment())
    release(world, execution, "FAILED")
    assert world.line == [any_deployment().id]
    assert world.head.worker is None
    world.workers.ensure(QUEUE)
    assert len(world.workflows.starts) == 2


def test_an_idle_worker_that_died_is_taken_off(idle):
    release(idle, idle.head.worker.execution)
    assert (idle.head.worker, idle.head.token) == (None, None)


def test_an_execution_that_is_not_the_worker_any_more_changes_nothing(world):
    execution = world.in_flight(any_deployment())
    release(world, execution)
    before = world.head
    release(world, execution)
    assert world.head == before


@pytest.mark.parametrize("status", ["ABORTED", "FAILED"])
def test_a_release_whose_announcement_failed_announces_it_when_it_comes_again(unheard, status):
    execution = unheard.in_flight(deployment_in(State.AWAITING_REVIEW))
    unheard.announcements.refusals = 1
    with pytest.raises(CloudUnavailable):
        release(unheard, execution, status)
    release(unheard, execution, status)
    assert unheard.announcements.announced[-1].state is State.ENGINE_FAULT
    assert unheard.announcements.refreshed == [any_deployment().id]


def test_a_release_that_put_a_deployment_back_without_announcing_it_does_so_when_it_comes_again(unheard):
    execution = unheard.in_flight(any_deployment())
    unheard.announcements.refusals = 1
    with pytest.raises(CloudUnavailable):
        release(unheard, execution)
    release(unheard, execution)
    assert unheard.announcements.refreshed == [any_deployment().id]
    assert unheard.line == [any_deployment().id]
    assert unheard.head.worker.execution != execution


def test_a_release_whose_lock_was_not_shown_shows_it_to_who_waits_when_it_comes_again(unheard):
    execution = applying(unheard, taken=True)
    unheard.enqueuer.enqueue(any_deployment(2))
    unheard.announcements.refusals = 1
    with pytest.raises(CloudUnavailable):
        release(unheard, execution)
    release(unheard, execution)
    assert unheard.announcements.lines[-1] == QUEUE
    assert any_deployment().id in unheard.announcements.refreshed


def test_a_stranger_that_closes_before_anything_ended_announces_nothing(world):
    world.enqueuer.enqueue(any_deployment())
    release(world, "stranger", "FAILED")
    assert world.announcements.refreshed == []


# Unlock


def test_unlocking_shows_what_waits_and_wakes_the_worker(idle):
    idle.lock_by(any_deployment(9))
    idle.enqueuer.enqueue(any_deployment(2))
    idle.announcements.lines.clear()
    assert idle.unlock().done
    assert idle.head.lock is None
    assert idle.announcements.lines == [QUEUE]
    assert any_deployment(9).id in idle.announcements.refreshed
    assert list(idle.workflows.settled) == ["token"]


def test_who_unlocked_is_remembered_at_the_queue_and_at_the_deployment_that_locked(world):
    world.lock_by(any_deployment(9))
    world.unlock(by="reviewer")
    refused = world.unlock(by="maintainer")
    assert not refused.done
    assert "reviewer unlocked it on 2026-03-02" in refused.reason
    assert world.deployments.get(any_deployment(9).id).unlocked == Unlocking("reviewer", NOW)
    assert world.head.unlocked == Unlocking("reviewer", NOW)


def test_a_queue_without_a_lock_is_not_unlocked(world):
    before = world.head
    assert world.unlock().reason == "This queue is not locked."
    assert world.head == before
    assert world.audit.published == []


def test_a_lock_whose_deployment_is_not_kept_any_more_is_taken_away(world):
    world.change(lock=any_lock(deployment="expired"))
    assert world.unlock().done
    assert world.head.lock is None


def test_the_same_unlocking_again_repairs_and_audits_once(idle):
    idle.lock_by(any_deployment(9))
    idle.enqueuer.enqueue(any_deployment(2))
    idle.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        idle.unlock()
    assert idle.unlock().done
    assert list(idle.workflows.settled) == ["token"]
    assert idle.audit.states == ["UNLOCKED"]


def test_an_unlocking_that_comes_again_leaves_a_newer_lock_alone(idle):
    idle.change(lock=any_lock())
    idle.unlock()
    newer = any_lock(at=LATER)
    idle.change(lock=newer)
    again = idle.unlock()
    assert again.done
    assert "locked again on 2026-03-02 12:00" in again.reason
    assert idle.head.lock == newer
    assert len(idle.audit.published) == 1


def test_an_unlock_that_was_asked_for_before_the_lock_was_put_there_takes_nothing_away(idle):
    newer = any_lock(at=LATER)
    idle.change(lock=newer)
    late = idle.unlock()
    assert not late.done
    assert "locked anew on 2026-03-02 12:00" in late.reason
    assert idle.head.lock == newer
    assert idle.audit.published == []


def test_an_unlock_is_audited_before_it_has_an_effect(world):
    world.lock_by(any_deployment(9))
    world.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        world.unlock()
    assert world.head.lock is not None
    world.audit.unavailable = False
    assert world.unlock().done
    (message,) = world.audit.published
    assert (message.state, message.body["initiating_user"], message.body["root"]) == ("UNLOCKED", "reviewer", "network")


def test_of_two_who_unlock_the_first_one_did_it_and_is_the_one_in_the_audit(world):
    world.lock_by(any_deployment(9))
    world.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        world.unlock(by="reviewer")
    world.audit.unavailable = False
    second = world.unlock(by="maintainer")
    assert (second.done, second.reason) == (False, "reviewer unlocks this queue already.")
    assert world.head.lock is None
    assert [message.body["initiating_user"] for message in world.audit.published] == ["reviewer"]


def test_a_lock_that_is_being_taken_away_does_not_come_back_after_a_rejected_deploy_by_hand(world):
    world.lock_by(any_deployment(9))
    world.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        world.unlock()
    world.in_flight(manual())
    world.validate(manual())
    world.deployments.save(replace(world.deployments.get(manual().id), state=State.REVIEW_EXPIRED))
    world.record(manual())
    assert world.head.lock is None


# Forced


def test_a_forced_deploy_is_audited_before_it_is_in_line(world):
    forced = manual(forced=True)
    world.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        world.enqueuer.enqueue(forced)
    assert world.line == []
    world.audit.unavailable = False
    world.enqueuer.enqueue(forced)
    assert world.audit.states == ["FORCED"]
    assert [audited.state for audited in world.deployments.get(forced.id).audited] == ["FORCED"]


# Decide again


def test_a_decision_is_made_again_after_conflicts_and_not_forever():
    tries = []

    def decide(conflicts):
        tries.append(NOW)
        if len(tries) <= conflicts:
            raise Conflict("The queue")
        return "decided"

    assert deciding_again(lambda: decide(TRIES - 1)) == "decided"
    tries.clear()
    with pytest.raises(Conflict):
        deciding_again(lambda: decide(TRIES))
    assert len(tries) == TRIES

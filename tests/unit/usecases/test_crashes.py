"""Whoever tells the audit topic may die at any of its calls, and do it all again.

Whatever the moment: the topic hears of each state once, never of two outcomes, and nobody else sees a state before.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.builders import NOW, any_job, any_lock, any_queue, deployment_in
from tests.contract.queue_actors import Died, Fate, Mortal
from tests.fakes.pull_requests import MemoryPullRequests
from tests.slots import keeper
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.jobs.check_branch import BranchCheck
from tidegate.deploys.jobs.finish import Finisher
from tidegate.deploys.jobs.stop_runner import RunnerStopper
from tidegate.deploys.queue.end_deployment import DeploymentEnder
from tidegate.deploys.queue.enqueue import Enqueuer
from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
from tidegate.deploys.queue.record_outcome import OutcomeRecorder
from tidegate.deploys.reviews.decide_review import ReviewDecider
from tidegate.deploys.rules.deployment import State, Trigger, Unlocking, is_final
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.review import Answer
from tidegate.gates.apply_requirements import ApplyRequirements
from tidegate.gates.judge_gate import GateJudge
from tidegate.jobs.begin_job import JobBeginner
from tidegate.jobs.record_result import ResultRecorder
from tidegate.messages import BeginJob, RecordOutcome, RecordResult
from tidegate.requests.unlock import QueueUnlocker

#: More calls to ports than any of these use cases makes.
CALLS = 12
DEATHS = list(itertools.product(range(CALLS), (False, True)))
DEPLOYMENT = deployment_in(State.AWAITING_REVIEW).id


class MortalWorld(World):
    """A world whose use cases die at the call that fate names; the announcements check what is audited."""

    def __post_init__(self):
        super().__post_init__()
        self.fate = Fate()
        self.seen: list[str] = []
        queues, deployments, jobs, audit, workflows = (
            Mortal(port, self.fate) for port in (self.queues, self.deployments, self.jobs, self.audit, self.workflows)
        )
        announcements = Mortal(self, self.fate)
        finisher = Finisher(deployments, jobs, audit)
        workers = WorkerEnsurer(queues, workflows)
        ender = DeploymentEnder(queues, jobs, finisher, announcements, self.clock)
        stopper = RunnerStopper(jobs, self.runners)
        judge = GateJudge(deployments, self.change_sets)
        slots = keeper(self.deployments)
        self.beginner = JobBeginner(
            deployments,
            jobs,
            self.forge,
            audit,
            announcements,
            self.clock,
            judge,
            stopper.stop,
            ApplyRequirements(self.forge, MemoryPullRequests()),
            BranchCheck(self.forge),
            slots,
        )
        self.decider = ReviewDecider(
            deployments, workflows, announcements, finisher, self.artifacts, BranchCheck(self.forge)
        )
        ports = finisher, announcements, self.clock, stopper.stop
        self.results = ResultRecorder(deployments, jobs, *ports, slots.give_back)
        self.outcomes = OutcomeRecorder(queues, ender, slots.give_back)
        self.enqueuer = Enqueuer(queues, deployments, audit, announcements, workers)
        self.unlocker = QueueUnlocker(queues, deployments, audit, announcements, workers)

    # The port Announcements.

    def changed(self, deployment):
        if is_final(deployment.state) and self.audit.published:
            assert deployment.audited, "an end is visible before the audit topic knows"
        self.seen.append(deployment.state)

    def refresh(self, deployment):
        self.seen.append(deployment)

    def line_changed(self, queue):
        self.seen.append(queue)

    # What happens.

    def waiting(self, state=State.AWAITING_REVIEW, **fields):
        """Put a deployment in flight."""
        deployment = replace(deployment_in(state, **fields), state=State.QUEUED)
        self.queues.enqueue(deployment)
        head, first = self.queues.read(deployment.queue)
        self.queues.commit(head, replace(head, in_flight=deployment.id), take=first)
        self.deployments.save(replace(self.deployments.get(deployment.id), state=state))
        return deployment

    def taken(self):
        self.waiting(State.APPLYING)
        job = any_job(JobKind.APPLY)
        self.jobs.create(job)
        self.jobs.hand_over(job.id, "token", "clone")
        self.jobs.take(job.id, "runner")

    def dies(self, death, call):
        self.fate.countdown, self.fate.after = death
        with suppress(Died):
            call()
        self.fate.countdown = None

    def dies_and_is_done_again(self, death, first, *then):
        """Do ``first`` and die; do it again, and all that follows."""
        self.dies(death, first)
        for call in (first, *then):
            call()


@pytest.fixture
def world():
    return MortalWorld()


@pytest.fixture(params=DEATHS, ids=lambda death: f"{'after' if death[1] else 'before'}-call-{death[0]}")
def death(request):
    return request.param


def test_an_apply_is_audited_as_running_once(world, death):
    world.waiting(State.APPROVED)
    world.dies_and_is_done_again(
        death, lambda: world.beginner.begin(BeginJob(deployment=DEPLOYMENT, phase="apply", attempt=1))
    )
    assert world.audit.states == ["RUNNING"]
    assert world.deployments.get(DEPLOYMENT).state is State.APPLYING


def test_an_apply_that_never_came_to_run_is_audited_with_one_end_if_at_all(world, death):
    world.waiting(State.APPROVED)
    world.dies(death, lambda: world.beginner.begin(BeginJob(deployment=DEPLOYMENT, phase="apply", attempt=1)))
    world.outcomes.record(RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT, error="States.Timeout"))
    assert world.audit.states in ([], ["FAILURE"], ["RUNNING", "FAILURE"])
    assert (world.audit.states == []) or world.deployments.get(DEPLOYMENT).audited


@pytest.mark.parametrize("second", ["applied", "apply_failed", "outcome_unknown"])
def test_of_two_results_only_the_one_decided_first_is_audited(world, death, second):
    world.taken()
    world.dies_and_is_done_again(
        death,
        lambda: world.results.record(RecordResult(deployment=DEPLOYMENT, state="applied")),
        lambda: world.results.record(RecordResult(deployment=DEPLOYMENT, state=second)),
        lambda: world.outcomes.record(RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT)),
    )
    assert world.audit.states == ["SUCCESS"]
    assert world.queues.read(any_queue())[0].deployed.state is State.APPLIED


def test_a_result_that_nobody_reported_and_one_that_comes_late_are_one_end(world, death):
    world.taken()
    world.dies(death, lambda: world.results.record(RecordResult(deployment=DEPLOYMENT, state="applied")))
    world.outcomes.record(RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT, error="States.Timeout"))
    ended = world.deployments.get(DEPLOYMENT)
    word = {State.APPLIED: "SUCCESS", State.OUTCOME_UNKNOWN: "UNKNOWN"}[ended.state]
    assert world.audit.states == [word]


def test_an_end_by_the_queue_is_audited_once(world, death):
    world.taken()
    world.dies_and_is_done_again(
        death, lambda: world.outcomes.record(RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT, error="Gone"))
    )
    assert world.audit.states == ["UNKNOWN"]
    assert world.queues.read(any_queue())[0].lock is not None


def test_a_rejection_is_audited_once_and_before_the_machine_hears_of_it(world, death):
    deployment = world.waiting()
    world.deployments.keep_review_token(DEPLOYMENT, deployment.review.id, "token")
    world.workflows.waiting.add("token")
    world.dies_and_is_done_again(death, lambda: world.decider.decide(DEPLOYMENT, Answer.REJECT, "reviewer", NOW))
    assert world.audit.states == ["REJECTED"]
    assert world.deployments.get(DEPLOYMENT).state is State.REJECTED
    assert list(world.workflows.settled) == ["token"]


def test_an_unlock_is_audited_once(world, death):
    world.waiting(State.APPLYING)
    head, _ = world.queues.read(any_queue())
    world.queues.commit(head, replace(head, lock=any_lock(deployment=DEPLOYMENT)))
    world.dies_and_is_done_again(death, lambda: world.unlocker.unlock(any_queue(), Unlocking("reviewer", NOW)))
    assert world.audit.states == ["UNLOCKED"]
    assert world.queues.read(any_queue())[0].lock is None
    assert world.deployments.get(DEPLOYMENT).unlocked == Unlocking("reviewer", NOW)


def test_a_forced_deploy_is_audited_once(world, death):
    forced = deployment_in(State.QUEUED, forced=True, trigger=Trigger.MANUAL)
    world.dies_and_is_done_again(death, lambda: world.enqueuer.enqueue(forced))
    assert world.audit.states == ["FORCED"]
    assert len(world.workflows.starts) == 1

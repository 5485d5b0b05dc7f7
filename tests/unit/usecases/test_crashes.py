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
from tests.fakes import MemoryEventPublisher
from tests.fakes.ports import With, changed
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.record_outcome import record_outcome
from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.state import State, is_final
from tidegate.jobs.begin_job import begin_job
from tidegate.jobs.record_result import record_result
from tidegate.messages import BeginJob, RecordOutcome, RecordResult

#: More calls to ports than any of these use cases makes.
CALLS = 12
DEATHS = list(itertools.product(range(CALLS), (False, True)))
DEPLOYMENT = deployment_in(State.AWAITING_REVIEW).id


APPLY = BeginJob(deployment=DEPLOYMENT, phase="apply", attempt=1)
#: What use cases may die at.
MORTAL = ("queues", "deployments", "jobs", "audit", "workflows", "event_publisher")


class MortalWorld(World):
    """A world whose use cases die at the call that fate names; the announcements check what is audited."""

    def __init__(self):
        self.fate = Fate()
        super().__init__(event_publisher=With(MemoryEventPublisher(), changed=self.is_shown))
        for name in MORTAL:  # What tests read and set does not die.
            setattr(self, name, getattr(self.ports, name))
        self.ports = changed(self.ports, **{name: Mortal(getattr(self, name), self.fate) for name in MORTAL})

    def is_shown(self, deployment):
        if is_final(deployment.state) and self.audit.published:
            assert deployment.audited, "an end is visible before the audit topic knows"

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
    world.dies_and_is_done_again(death, lambda: begin_job(world.ports, APPLY))
    assert world.audit.states == ["RUNNING"]
    assert world.deployments.get(DEPLOYMENT).state is State.APPLYING


def test_an_apply_that_never_came_to_run_is_audited_with_one_end_if_at_all(world, death):
    world.waiting(State.APPROVED)
    world.dies(death, lambda: begin_job(world.ports, APPLY))
    record_outcome(world.ports, RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT, error="States.Timeout"))
    assert world.audit.states in ([], ["FAILURE"], ["RUNNING", "FAILURE"])
    assert (world.audit.states == []) or world.deployments.get(DEPLOYMENT).audited


@pytest.mark.parametrize("second", ["applied", "apply_failed", "outcome_unknown"])
def test_of_two_results_only_the_one_decided_first_is_audited(world, death, second):
    world.taken()
    world.dies_and_is_done_again(
        death,
        lambda: record_result(world.ports, RecordResult(deployment=DEPLOYMENT, state="applied")),
        lambda: record_result(world.ports, RecordResult(deployment=DEPLOYMENT, state=second)),
        lambda: record_outcome(world.ports, RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT)),
    )
    assert world.audit.states == ["SUCCESS"]
    assert world.queues.read(any_queue())[0].deployed.state is State.APPLIED


def test_a_result_that_nobody_reported_and_one_that_comes_late_are_one_end(world, death):
    world.taken()
    world.dies(death, lambda: record_result(world.ports, RecordResult(deployment=DEPLOYMENT, state="applied")))
    record_outcome(world.ports, RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT, error="States.Timeout"))
    ended = world.deployments.get(DEPLOYMENT)
    word = {State.APPLIED: "SUCCESS", State.OUTCOME_UNKNOWN: "UNKNOWN"}[ended.state]
    assert world.audit.states == [word]


def test_an_end_by_the_queue_is_audited_once(world, death):
    world.taken()
    world.dies_and_is_done_again(
        death,
        lambda: record_outcome(world.ports, RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT, error="Gone")),
    )
    assert world.audit.states == ["UNKNOWN"]
    assert world.queues.read(any_queue())[0].lock is not None


def test_a_rejection_is_audited_once_and_before_the_machine_hears_of_it(world, death):
    deployment = world.waiting()
    world.deployments.keep_review_token(DEPLOYMENT, deployment.review.id, "token")
    world.workflows.waiting.add("token")
    world.dies_and_is_done_again(death, lambda: decide_review(world.ports, DEPLOYMENT, Answer.REJECT, "reviewer", NOW))
    assert world.audit.states == ["REJECTED"]
    assert world.deployments.get(DEPLOYMENT).state is State.REJECTED
    assert list(world.workflows.settled) == ["token"]


def test_an_unlock_is_audited_once(world, death):
    world.waiting(State.APPLYING)
    head, _ = world.queues.read(any_queue())
    world.queues.commit(head, replace(head, lock=any_lock(deployment=DEPLOYMENT)))
    world.dies_and_is_done_again(death, lambda: unlock_queue(world.ports, any_queue(), Unlocking("reviewer", NOW)))
    assert world.audit.states == ["UNLOCKED"]
    assert world.queues.read(any_queue())[0].lock is None
    assert world.deployments.get(DEPLOYMENT).outcome.unlocked == Unlocking("reviewer", NOW)


def test_a_forced_deploy_is_audited_once(world, death):
    forced = deployment_in(State.QUEUED, forced=True, trigger=Trigger.MANUAL)
    world.dies_and_is_done_again(death, lambda: enqueue(world.ports, forced))
    assert world.audit.states == ["FORCED"]
    assert len(world.workflows.starts) == 1

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
from tests.unit.jobs.terraform_scenario import Scenario
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


class MortalScenario(Scenario):
    """A scenario whose use cases die at the call that fate names; the announcements check what is audited."""

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
def scenario():
    return MortalScenario()


@pytest.fixture(params=DEATHS, ids=lambda death: f"{'after' if death[1] else 'before'}-call-{death[0]}")
def death(request):
    return request.param


def test_an_apply_is_audited_as_running_once(scenario, death):
    scenario.waiting(State.APPROVED)
    scenario.dies_and_is_done_again(death, lambda: begin_job(scenario.ports, APPLY))
    assert scenario.audit.states == ["RUNNING"]
    assert scenario.deployments.get(DEPLOYMENT).state is State.APPLYING


def test_an_apply_that_never_came_to_run_is_audited_with_one_end_if_at_all(scenario, death):
    scenario.waiting(State.APPROVED)
    scenario.dies(death, lambda: begin_job(scenario.ports, APPLY))
    record_outcome(scenario.ports, RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT, error="States.Timeout"))
    assert scenario.audit.states in ([], ["FAILURE"], ["RUNNING", "FAILURE"])
    assert (scenario.audit.states == []) or scenario.deployments.get(DEPLOYMENT).audited


@pytest.mark.parametrize("second", ["applied", "apply_failed", "outcome_unknown"])
def test_of_two_results_only_the_one_decided_first_is_audited(scenario, death, second):
    scenario.taken()
    scenario.dies_and_is_done_again(
        death,
        lambda: record_result(scenario.ports, RecordResult(deployment=DEPLOYMENT, state="applied")),
        lambda: record_result(scenario.ports, RecordResult(deployment=DEPLOYMENT, state=second)),
        lambda: record_outcome(scenario.ports, RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT)),
    )
    assert scenario.audit.states == ["SUCCESS"]
    assert scenario.queues.read(any_queue())[0].deployed.state is State.APPLIED


def test_a_result_that_nobody_reported_and_one_that_comes_late_are_one_end(scenario, death):
    scenario.taken()
    scenario.dies(death, lambda: record_result(scenario.ports, RecordResult(deployment=DEPLOYMENT, state="applied")))
    record_outcome(scenario.ports, RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT, error="States.Timeout"))
    ended = scenario.deployments.get(DEPLOYMENT)
    word = {State.APPLIED: "SUCCESS", State.OUTCOME_UNKNOWN: "UNKNOWN"}[ended.state]
    assert scenario.audit.states == [word]


def test_an_end_by_the_queue_is_audited_once(scenario, death):
    scenario.taken()
    scenario.dies_and_is_done_again(
        death,
        lambda: record_outcome(scenario.ports, RecordOutcome(queue=any_queue(), deployment=DEPLOYMENT, error="Gone")),
    )
    assert scenario.audit.states == ["UNKNOWN"]
    assert scenario.queues.read(any_queue())[0].lock is not None


def test_a_rejection_is_audited_once_and_before_the_machine_hears_of_it(scenario, death):
    deployment = scenario.waiting()
    scenario.deployments.keep_review_token(DEPLOYMENT, deployment.review.id, "token")
    scenario.workflows.waiting.add("token")
    scenario.dies_and_is_done_again(
        death, lambda: decide_review(scenario.ports, DEPLOYMENT, Answer.REJECT, "reviewer", NOW)
    )
    assert scenario.audit.states == ["REJECTED"]
    assert scenario.deployments.get(DEPLOYMENT).state is State.REJECTED
    assert list(scenario.workflows.settled) == ["token"]


def test_an_unlock_is_audited_once(scenario, death):
    scenario.waiting(State.APPLYING)
    head, _ = scenario.queues.read(any_queue())
    scenario.queues.commit(head, replace(head, lock=any_lock(deployment=DEPLOYMENT)))
    scenario.dies_and_is_done_again(
        death, lambda: unlock_queue(scenario.ports, any_queue(), Unlocking("reviewer", NOW))
    )
    assert scenario.audit.states == ["UNLOCKED"]
    assert scenario.queues.read(any_queue())[0].lock is None
    assert scenario.deployments.get(DEPLOYMENT).outcome.unlocked == Unlocking("reviewer", NOW)


def test_a_forced_deploy_is_audited_once(scenario, death):
    forced = deployment_in(State.QUEUED, forced=True, trigger=Trigger.MANUAL)
    scenario.dies_and_is_done_again(death, lambda: enqueue(scenario.ports, forced))
    assert scenario.audit.states == ["FORCED"]
    assert len(scenario.workflows.starts) == 1

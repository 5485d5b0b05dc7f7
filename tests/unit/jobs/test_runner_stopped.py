from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.builders import any_job, any_replay_job
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.rules.job import JobKind, job_digest, job_id
from tidegate.deploys.rules.plan_runner import Limit, PlanRunner
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.slots.keep_slots import take_slot
from tidegate.jobs.runner_stopped import StoppedRunner, report_failed_call, report_stopped_runner
from tidegate.rules.errors import NotItsJob

TASK, OTHER_TASK = "arn:aws:ecs:eu-central-1:123456789012:task/c/1", "arn:aws:ecs:eu-central-1:123456789012:task/c/2"
KILLED = StoppedRunner(TASK, any_job().id, "start-token", "OutOfMemoryError")


@pytest.fixture
def scenario():
    scenario = Scenario()
    scenario.jobs.create(any_job())
    scenario.workflows.waiting |= {"start-token", "job-token"}
    return scenario


def report(scenario, stopped=KILLED):
    report_stopped_runner(scenario.ports, stopped)
    return scenario.workflows.failed


def take(scenario, runner):
    scenario.jobs.hand_over(any_job().id, "job-token", "clone")
    scenario.jobs.take(any_job().id, runner)


def test_a_runner_that_never_started_fails_its_start_with_the_reason(scenario):
    assert report(scenario) == {"start-token": ("RunnerStopped", json.dumps({"message": "OutOfMemoryError"}))}


def test_the_runner_of_a_clusters_task_fails_its_token_and_keeps_the_applys_slot(scenario):
    job = any_job(JobKind.TASK)
    scenario.jobs.create(job)
    take_slot(scenario.ports, job.deployment)
    report(scenario, StoppedRunner(TASK, job.id, "start-token", "Spot"))
    assert set(scenario.workflows.failed) == {"start-token"}
    assert scenario.plan_slots.read(INSTALLATION).held == (job.deployment,)


def test_who_ran_out_of_memory_is_told_how_much_there_was_and_what_to_write(scenario):
    report(scenario, replace(KILLED, out_of_memory=True))
    (_, cause) = scenario.workflows.failed["start-token"]
    assert "OutOfMemoryError. It ran out of memory: its runner has 2 GB" in cause
    assert "runner: {memory: 3}" in cause


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        (
            "CannotPullContainerError: image Manifest does not contain descriptor matching platform 'linux/arm64'.",
            "matching platform 'linux/arm64'. The runner image is built for another",
        ),
        (
            "ResourceInitializationError: unable to pull secrets or registry auth: dial tcp 10.0.0.1:443: i/o timeout",
            "Ask the operators of Tidegate to",
        ),
    ],
)
def test_what_kept_a_task_from_starting_is_told_with_what_to_do(scenario, reason, advice):
    (_, cause) = report(scenario, replace(KILLED, reason=reason))["start-token"]
    assert advice in cause


def test_of_an_unknown_job_the_reason_alone_is_told(scenario):
    report(scenario, replace(KILLED, job="network-plan-9", out_of_memory=True))
    assert scenario.workflows.failed["start-token"][1] == json.dumps({"message": "OutOfMemoryError"})


def test_a_runner_that_had_taken_the_job_fails_the_job(scenario):
    take(scenario, TASK)
    assert set(report(scenario)) == {"job-token"}


def test_an_earlier_task_does_not_fail_the_one_that_took_the_job(scenario):
    take(scenario, OTHER_TASK)
    assert set(report(scenario)) == {"start-token"}


def test_a_runner_that_answered_before_it_stopped_fails_nothing(scenario):
    take(scenario, TASK)
    scenario.workflows.waiting.clear()
    assert report(scenario) == {}


def test_a_task_without_a_start_token_that_took_nothing_fails_nothing(scenario):
    assert report(scenario, StoppedRunner(TASK, any_job().id, None, "stopped")) == {}


def test_a_task_without_a_start_token_fails_only_its_job(scenario):
    take(scenario, TASK)
    assert set(report(scenario, StoppedRunner(TASK, any_job().id, None, "stopped"))) == {"job-token"}


def test_the_limit_of_a_call_is_none_of_the_task_that_took_the_job(scenario):
    take(scenario, TASK)
    report(scenario, StoppedRunner("lambda:1", any_job().id, "start-token", "killed", limit=Limit.MEMORY))
    assert scenario.jobs.limit(any_job().id) is None


def test_a_limit_that_ended_a_runner_is_remembered_with_its_job(scenario):
    take(scenario, "lambda:1")
    report(scenario, StoppedRunner("lambda:1", any_job().id, "start-token", "killed", limit=Limit.MEMORY))
    assert set(scenario.workflows.failed) == {"job-token"}
    assert scenario.jobs.limit(any_job().id) is Limit.MEMORY


@pytest.mark.parametrize(("kind", "given_back"), [(JobKind.PLAN, 1), (JobKind.APPLY, 1), (JobKind.SPECULATE, 0)])
def test_only_runners_of_deployments_give_back_their_slots(scenario, kind, given_back):
    job = any_job(kind, id=job_id(any_job().deployment, kind, 1))
    take_slot(scenario.ports, job.deployment)
    report(scenario, replace(KILLED, job=job.id))
    assert len(scenario.plan_slots.read(INSTALLATION).held) == 1 - given_back


CALL = StoppedRunner("lambda:1", any_job().id, "start-token", "killed", limit=Limit.MEMORY)


def call(scenario, job, stopped=CALL, digest=None):
    scenario.jobs.create(job)
    scenario.workflows.waiting.add("start-token")
    report_failed_call(scenario.ports, stopped, job_digest(job) if digest is None else digest)


def test_a_call_for_a_plan_that_was_begun_on_lambda_fails_what_waits_for_it():
    scenario = Scenario()
    call(scenario, replace(any_job(), runner=PlanRunner.LAMBDA))
    assert set(scenario.workflows.failed) == {"start-token"}


@pytest.mark.parametrize(
    ("job", "stopped", "digest"),
    [
        (any_job(), CALL, None),
        (replace(any_job(), runner=PlanRunner.LAMBDA), CALL, "another"),
        (replace(any_job(), runner=PlanRunner.LAMBDA), replace(CALL, job="network-plan-9"), None),
    ],
    ids=["on Fargate", "of another digest", "unknown"],
)
def test_a_call_that_is_not_for_its_job_is_refused_and_nothing_fails(job, stopped, digest):
    scenario = Scenario()
    with pytest.raises(NotItsJob, match=stopped.job):
        call(scenario, job, stopped, digest)
    assert scenario.workflows.failed == {}
    assert scenario.jobs.limit(job.id) is None


def test_a_stopped_replay_fails_its_token_and_gives_no_deployments_slot_back(scenario):
    job = any_replay_job()
    scenario.jobs.create(job)
    take_slot(scenario.ports, job.deployment)
    stopped = replace(KILLED, job=job.id, out_of_memory=True)
    (_, cause) = report(scenario, stopped)["start-token"]
    assert "2 GB (runner.memory). Ask the operators of Tidegate to set runner: {memory: 3} or more in cdk.json" in cause
    assert scenario.ports.plan_slots.read(INSTALLATION).held == (job.deployment,)

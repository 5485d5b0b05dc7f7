"""The apply of a cluster's root module: once for a deployment, and never taken for known when it is not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.builders import amended
from tests.unit.clusters.cluster_scenario import PLAN, STEPS, ClusterScenario, step
from tidegate.check_runs.get_deployment import jobs_of
from tidegate.clusters.rules.context import Access
from tidegate.clusters.rules.overview import workflow_overview
from tidegate.clusters.rules.record import PhaseState, Place
from tidegate.deploys.rules.job import JobKind, module_job_id
from tidegate.deploys.rules.outcome import Cancellation
from tidegate.jobs.record_result import record_result
from tidegate.messages import RecordResult, ResultRecorded
from tidegate.plans.rules.plan import Artifact

MODULE = Artifact("plans/d1-plan-1/plan.tfplan", "0" * 64)
TASK = "upgrade-cluster"
OF_MODULE = replace(PLAN, terraform=MODULE, steps=(*STEPS[:5], step(TASK), *STEPS[6:]))


@pytest.fixture
def cluster():
    cluster = ClusterScenario(OF_MODULE)
    cluster.begin()
    return cluster


def phase(cluster):
    return cluster.record.run.phase(Place(TASK))


def recorded(cluster, state="applied", error=None, cause=None, workflow="d1") -> ResultRecorded:
    return record_result(
        cluster.ports, RecordResult(deployment="d1", workflow=workflow, state=state, error=error, cause=cause)
    )


def taken(cluster):
    cluster.jobs.hand_over("d1-apply-2", "token", "clone")
    cluster.jobs.take("d1-apply-2", "arn:runner")


def test_the_task_begins_with_the_apply_of_the_reviewed_plan(cluster):
    begun = cluster.start(TASK)
    job = cluster.jobs.get(begun.job)
    assert (begun.next, begun.job, begun.size.seconds) == ("apply", module_job_id("d1"), 900)
    assert (job.kind, job.plan_file, job.deployment) == (JobKind.APPLY, MODULE, "d1")
    apply = cluster.jobs.get("d1-apply-1")
    assert (job.sha, job.engine_version, job.lock_file) == (apply.sha, apply.engine_version, apply.lock_file)
    assert (phase(cluster).state, phase(cluster).job, phase(cluster).applying) == (PhaseState.RUNNING, begun.job, True)


def test_it_is_begun_once_however_often_it_is_asked_for(cluster):
    first, record = cluster.start(TASK), cluster.record
    assert cluster.start(TASK) == first
    assert cluster.record == record


def test_only_what_makes_the_cluster_applies_and_only_if_there_is_something_to_apply():
    assert ClusterScenario(OF_MODULE).plan.applies_at(TASK)
    assert not OF_MODULE.applies_at("validate")
    assert not PLAN.applies_at(TASK)
    cluster = ClusterScenario(replace(OF_MODULE, unchanged=True))
    cluster.begin()
    assert cluster.start(TASK).next == "run"


def test_once_it_is_applied_the_task_has_a_runner_that_proves_it(cluster):
    cluster.start(TASK)
    taken(cluster)
    assert recorded(cluster) == ResultRecorded(state="applied")
    begun = cluster.start(TASK, applied=True)
    assert begun.next == "run"
    assert cluster.start(TASK, applied=True) == begun
    assert (phase(cluster).job, phase(cluster).apply, phase(cluster).applying) == (begun.job, "d1-apply-2", False)
    cluster.result(begun.job)
    cluster.finish(TASK)
    assert phase(cluster).state is PhaseState.DONE
    assert not cluster.ports.runners.stopped


def test_another_attempt_to_prove_it_has_another_job(cluster):
    cluster.start(TASK)
    taken(cluster)
    recorded(cluster)
    first = cluster.start(TASK, applied=True).job
    second = cluster.start(TASK, applied=True, attempt=2).job
    assert (first, second) == ("d1-task-1", "d1-task-2")
    assert phase(cluster).apply == "d1-apply-2"


def failed(cluster, error="TerraformClientError"):
    """Return what the workflow tells of its end."""
    cluster.fail_task(TASK, error=error)
    cluster.fail(error)
    return cluster.end_failed().state


def test_the_engines_own_failure_is_a_failure(cluster):
    cluster.start(TASK)
    taken(cluster)
    answer = recorded(cluster, "apply_failed", "TerraformClientError", "it says why")
    assert (answer.state, answer.end, answer.error, answer.cause) == (
        "apply_failed",
        "apply failed",
        "TerraformClientError",
        "it says why",
    )
    assert failed(cluster) == "failed"


@pytest.mark.parametrize("state", ["engine_fault", "outcome_unknown"])
def test_without_a_result_of_a_runner_that_had_it_the_outcome_is_unknown(cluster, state):
    cluster.start(TASK)
    taken(cluster)
    answer = recorded(cluster, state, "RunnerStopped", "out of memory")
    assert (answer.state, answer.end) == ("outcome_unknown", "unknown")
    assert failed(cluster, "RunnerStopped") == "unknown"
    assert not cluster.ports.runners.stopped, "its engine may still work"


def test_if_no_runner_had_it_nothing_was_applied(cluster):
    cluster.start(TASK)
    assert recorded(cluster, "engine_fault", "ECS.AccessDeniedException").end == "apply failed"
    assert failed(cluster) == "failed"


def test_if_nothing_was_recorded_its_runner_decides(cluster):
    cluster.start(TASK)
    assert failed(cluster, "TidegateFailed") == "failed"
    other = ClusterScenario(OF_MODULE)
    other.begin()
    other.start(TASK)
    taken(other)
    assert failed(other, "TidegateFailed") == "unknown"


def test_a_workflow_that_is_stopped_while_it_applies_does_not_stop_the_engine(cluster):
    cluster.start(TASK)
    taken(cluster)
    cluster.fail("Execution.ABORTED")
    assert not cluster.ports.runners.stopped
    assert cluster.end_failed().state == "unknown"


def test_an_apply_beyond_its_time_limit_is_stopped_and_says_how_long_it_had(cluster):
    cluster.start(TASK)
    taken(cluster)
    answer = recorded(cluster, "outcome_unknown", "States.Timeout", "")
    assert "15 minutes" in json.loads(answer.cause)["message"]
    assert [*cluster.ports.runners.stopped] == ["arn:runner"]


def test_an_engine_that_was_interrupted_and_stored_its_state_has_failed(cluster):
    cluster.start(TASK)
    taken(cluster)
    deployment = cluster.ports.deployments.get("d1")
    by = Cancellation("reviewer", cluster.ports.clock.now())
    cluster.ports.deployments.save(amended(deployment, cancelled=by))
    answer = recorded(cluster, "outcome_unknown", "Interrupted", json.dumps({"message": "", "ended": True}))
    assert answer.end == "apply failed"


def test_a_result_after_the_end_of_the_workflow_changes_nothing(cluster):
    cluster.start(TASK)
    taken(cluster)
    cluster.fail("Execution.ABORTED")
    cluster.end_failed()
    before = cluster.record
    assert recorded(cluster, "applied").end == "unknown"
    assert recorded(cluster, "applied", workflow="other").state == "outcome_unknown"
    assert cluster.record == before


def test_its_log_is_one_of_the_deployment_and_of_the_task(cluster):
    cluster.start(TASK)
    taken(cluster)
    deployment = cluster.ports.deployments.get("d1")
    assert "d1-apply-2" in jobs_of(cluster.ports, deployment)
    part = next(each.task for each in overview(cluster).tasks if each.task.place.task == TASK)
    assert (part.job, part.apply) == ("d1-apply-2", "")
    recorded(cluster)
    cluster.start(TASK, applied=True)
    part = next(each.task for each in overview(cluster).tasks if each.task.place.task == TASK)
    assert (part.job, part.apply) == ("d1-task-1", "d1-apply-2")
    assert [*jobs_of(cluster.ports, deployment)][-2:] == ["d1-apply-2", "d1-task-1"]


def test_its_log_is_found_after_a_later_workflow_has_begun(cluster):
    cluster.start(TASK)
    cluster.fail()
    cluster.end_failed()
    cluster.begin(cluster.deployed(2))
    assert "d1-apply-2" in jobs_of(cluster.ports, cluster.ports.deployments.get("d1"))


def overview(cluster):
    return workflow_overview(cluster.record.run, cluster.plan)


@pytest.mark.parametrize("access", Access)
def test_only_some_clusters_have_an_api_server_to_ask(access):
    assert access.has_api == (access in {Access.EKS, Access.SECRET})

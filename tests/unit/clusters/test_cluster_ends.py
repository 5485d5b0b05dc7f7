from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.unit.clusters.cluster_scenario import CURRENT, ORDER_OF_TASKS, PLAN, TELL, TIDY, ClusterScenario
from tidegate.clusters.end_cluster import close_failed, error_execution, release_stopped
from tidegate.clusters.rules.execution_refusals import StaleFence
from tidegate.clusters.rules.record import PhaseState, Place
from tidegate.clusters.rules.workflow import Operation, Workflow
from tidegate.deploys.rules.cluster import ClusterKind, CurrentCluster, ProviderName
from tidegate.messages.clusters import NamedHook, OfCluster

UPGRADED = CurrentCluster("1.32", "new", ProviderName.SIMULATED, "1", (("cni", "1.2"),), cluster_hash="cluster")
WORKFLOW = OfCluster(deployment="d1", execution="d1")


@pytest.fixture
def cluster():
    cluster = ClusterScenario()
    cluster.begin()
    return cluster


def test_a_workflow_ends_with_what_its_cluster_is_now_and_without_a_lock(cluster):
    cluster.end()
    assert (cluster.record.current, cluster.record.lock) == (UPGRADED, None)
    assert cluster.record.run.ended_at > cluster.record.run.begun_at


def test_how_to_reach_a_cluster_stays_known(cluster):
    cluster.do("validate")
    cluster.end()
    assert cluster.record.current.reference == "management-cluster of d1"
    cluster.begin(cluster.deployed(2))
    cluster.end("d2")
    assert cluster.record.current.reference == "management-cluster of d1"


def test_the_end_is_recorded_once(cluster):
    cluster.end()
    before = cluster.record
    cluster.end()
    assert cluster.record == before


def test_an_execution_without_the_lock_ends_nothing(cluster):
    cluster.end()
    cluster.begin(cluster.deployed(2))
    with pytest.raises(StaleFence):
        cluster.end("d1")


def test_versions_that_do_not_change_are_those_of_before():
    cluster = ClusterScenario(replace(PLAN, versions=()))
    cluster.begin()
    cluster.end()
    assert cluster.record.current.kubernetes == CURRENT.kubernetes


def test_an_adopted_cluster_has_no_version_that_is_known():
    cluster = ClusterScenario(replace(PLAN, versions=()), current=None)
    cluster.begin()
    cluster.end()
    assert cluster.record.current.kubernetes == ""


def test_a_deleted_cluster_is_gone():
    cluster = ClusterScenario(replace(PLAN, workflow=Workflow(ClusterKind.MANAGEMENT, Operation.DELETE)))
    cluster.begin()
    cluster.end()
    assert (cluster.record.current, cluster.record.exists) == (None, False)


def test_a_failure_gives_back_what_is_held_the_last_first_and_runs_hooks(cluster):
    for task in ORDER_OF_TASKS[:3]:
        cluster.do(task)
    failed = cluster.fail("Oops", '{"message": "No."}')
    assert failed.releases == ("resume-gitops-agent",)
    assert failed.on_error == (NamedHook(hook=TELL.name, registrar=TELL.registrar),)
    assert failed.always == (NamedHook(hook=TIDY.name, registrar=TIDY.registrar),)
    first = cluster.record.run.first_error
    assert (first.error, first.cause) == ("Oops", "Oops: No.")


def test_the_error_of_a_task_is_that_of_its_own_execution(cluster):
    task = {"ExecutionArn": "arn:task", "Error": "ClusterUnreachable", "Cause": '{"message": "It does not answer."}'}
    workflow = {"ExecutionArn": "arn:workflow", "Error": "States.TaskFailed", "Cause": json.dumps(task)}
    cluster.fail("States.TaskFailed", json.dumps(workflow))
    assert cluster.record.run.first_error.error == "ClusterUnreachable"
    assert "It does not answer." in cluster.end_failed().cause


def test_a_cause_that_no_parser_takes_is_kept_as_text(cluster):
    cluster.fail("Oops", "[" * 30_000)
    assert "[[[" in cluster.record.run.first_error.cause


def test_the_first_error_stays(cluster):
    cluster.fail("First")
    before = cluster.record
    cluster.fail("Second")
    assert cluster.record == before
    assert cluster.end_failed().error == "First"


def test_what_still_runs_fails_with_the_workflow_and_its_result_comes_too_late(cluster):
    job = cluster.start("validate").job
    cluster.ports.jobs.hand_over(job, "token", "")
    cluster.ports.jobs.take(job, "arn:aws:ecs:task")
    cluster.do("install-networking")
    cluster.fail()
    assert cluster.record.run.phase(Place("validate")).state is PhaseState.FAILED
    assert cluster.record.run.phase(Place("install-networking")).state is PhaseState.NOT_NEEDED
    assert cluster.ports.runners.stopped == {"arn:aws:ecs:task": f"The job {job} has ended or was cancelled."}


def test_functions_that_still_run_fail_with_the_workflow(cluster):
    cluster.start("upgrade-cluster", hook="check", registrar="repository")
    cluster.fail()
    place = Place("upgrade-cluster", "check", "repository")
    assert cluster.record.run.phase(place).state is PhaseState.FAILED


def test_an_execution_that_never_had_the_lock_gives_nothing_back(cluster):
    failed = cluster.fail(execution="other")
    assert (failed.releases, failed.on_error, failed.always) == ((), (), ())
    ended = cluster.end_failed(execution="other")
    assert (ended.error, ended.cause) == ("Late", "It is late.")
    assert cluster.record.lock is not None


def test_a_cluster_without_a_record_has_nothing_to_give_back():
    cluster = ClusterScenario(current=None)
    cluster.deployed()
    assert cluster.fail().releases == ()
    assert cluster.end_failed().error == "Late"


def test_a_failed_workflow_ends_without_a_lock_and_with_what_is_kept(cluster):
    for task in ORDER_OF_TASKS[:2]:
        cluster.do(task)
    cluster.fail()
    ended = cluster.end_failed()
    assert (ended.state, ended.error, ended.cause) == ("failed", "Oops", "Oops")
    assert cluster.record.lock is None
    assert [each.name for each in cluster.record.held] == ["backup"]
    assert cluster.end_failed() == ended


@pytest.mark.parametrize("status", ["ABORTED", "TIMED_OUT", "FAILED"])
def test_a_stopped_workflow_is_followed_by_what_handles_its_error(cluster, status):
    release_stopped(cluster.ports, WORKFLOW, status)
    release_stopped(cluster.ports, WORKFLOW, status)
    ((execution, deployment, of, error, cause),) = cluster.ports.cluster_workflows.errors
    assert (execution, deployment, of, error) == ("d1-error", "d1", "d1", f"Execution.{status}")
    assert status in cause


def test_a_workflow_that_has_no_lock_is_followed_by_nothing(cluster):
    cluster.end()
    release_stopped(cluster.ports, WORKFLOW, "FAILED")
    assert cluster.ports.cluster_workflows.errors == []


def test_a_cluster_is_unlocked_if_what_handles_the_error_ends_early(cluster):
    cluster.do("validate")
    cluster.start("back-up")
    close_failed(cluster.ports, WORKFLOW, "started-by-the-workflow")
    assert cluster.record.lock is not None
    for _ in range(2):
        close_failed(cluster.ports, WORKFLOW, error_execution("d1"))
    assert cluster.record.lock is None
    assert [each.name for each in cluster.record.held] == ["backup"]


def test_names_of_executions_stay_within_their_limit():
    assert len(error_execution("x" * 80)) <= 80

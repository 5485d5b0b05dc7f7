"""A workflow that ends early, at whichever task: what it holds is given back, and a resume goes on from there."""

from __future__ import annotations

import pytest

from tests.builders import NOW
from tests.unit.clusters.cluster_scenario import ORDER_OF_TASKS, ClusterScenario
from tidegate.clusters.end_cluster import release_stopped
from tidegate.deploys.cancel_deployment import cancel_deployment
from tidegate.messages.clusters import OfCluster
from tidegate.rules.errors import DeploymentCancelled

#: What is given back once its task has begun, and with it what needs the value that it produced.
UNDONE = ("pause-gitops-agent", "wait", "resume-gitops-agent")


@pytest.fixture
def cluster():
    return ClusterScenario()


def reach(cluster, task):
    """Begin a workflow, and do what comes before a task."""
    cluster.begin()
    for each in ORDER_OF_TASKS[: ORDER_OF_TASKS.index(task)]:
        cluster.do(each)


def fails(cluster, task):
    cluster.start(task)
    cluster.fail_task(task)
    return cluster.fail()


def is_cancelled(cluster, task):
    assert cancel_deployment(cluster.ports, "d1", "rhea", NOW, is_apply=True).done
    with pytest.raises(DeploymentCancelled):
        cluster.start(task)
    return cluster.fail("DeploymentCancelled")


def is_stopped(cluster, task):
    """Its execution is stopped while a runner works: an event starts what handles the error."""
    cluster.start(task)
    release_stopped(cluster.ports, OfCluster(deployment="d1", execution="d1"), "ABORTED")
    ((_, _, execution, error, cause),) = cluster.ports.cluster_workflows.errors
    assert (execution, error) == ("d1", "Execution.ABORTED")
    return cluster.fail(error, cause)


def give_back(cluster, failed):
    for each in failed.releases:
        cluster.do(each)
    cluster.end_failed()


@pytest.mark.parametrize("ends", [fails, is_cancelled, is_stopped])
@pytest.mark.parametrize("task", ORDER_OF_TASKS)
def test_a_pause_is_given_back_wherever_and_however_a_workflow_ends(cluster, task, ends):
    reach(cluster, task)
    give_back(cluster, ends(cluster, task))
    assert "pause" not in {each.name for each in cluster.record.held}
    assert cluster.record.lock is None


@pytest.mark.parametrize("ends", [fails, is_stopped])
@pytest.mark.parametrize("task", ORDER_OF_TASKS)
def test_a_resume_does_again_only_what_was_not_recorded_or_given_back(cluster, task, ends):
    reach(cluster, task)
    give_back(cluster, ends(cluster, task))
    assert cluster.begin(cluster.deployed(2)) == 2
    before = ORDER_OF_TASKS[: ORDER_OF_TASKS.index(task)]
    paused = "pause-gitops-agent" in before or task == "pause-gitops-agent"
    again = {"validate", *(UNDONE if paused else ())}
    for each in ORDER_OF_TASKS:
        expected = "done" if each in before and each not in again else "run"
        assert cluster.do(each, "d2").next == expected, each
    cluster.do("delete-backup", "d2")
    cluster.end("d2")
    assert (cluster.record.current.kubernetes, cluster.record.held, cluster.record.lock) == ("1.32", (), None)


def test_what_a_runner_did_before_it_was_lost_is_begun_again_so_that_its_probe_finds_it(cluster):
    reach(cluster, "upgrade-cluster")
    begun = cluster.start("upgrade-cluster")
    cluster.result(begun.job)
    release_stopped(cluster.ports, OfCluster(deployment="d1", execution="d1"), "TIMED_OUT")
    give_back(cluster, cluster.fail())
    cluster.begin(cluster.deployed(2))
    cluster.do("validate", "d2")
    assert cluster.start("upgrade-cluster", "d2").next == "run"

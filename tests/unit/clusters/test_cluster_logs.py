"""The log of a cluster's task ends with the task, while its deployment goes on with others."""

from __future__ import annotations

import pytest

from tests.unit.clusters.cluster_scenario import ClusterScenario
from tidegate.deploys.read_log import LogState, read_log
from tidegate.deploys.rules.job import log_key
from tidegate.ports import LogChunk


@pytest.fixture
def cluster():
    cluster = ClusterScenario()
    cluster.begin()
    return cluster


def read(cluster, job, after=0):
    return read_log(cluster.ports, cluster.ports.deployments.get("d1"), job, after)


def write(cluster, job, *lines):
    cluster.ports.job_logs.append(job, LogChunk(0, lines))


def test_a_task_that_runs_has_a_log_that_goes_on(cluster):
    job = cluster.start("validate").job
    write(cluster, job, "a line")
    page = read(cluster, job)
    assert (page.state, page.lines, page.ended) == (LogState.RUNNING, ("a line",), False)


def test_the_log_of_a_task_that_is_done_has_ended_although_others_run(cluster):
    job = cluster.do("validate").job
    write(cluster, job, "a line")
    cluster.ports.artifacts.put(log_key(job), b"a line\nthe last line\n")
    cluster.start("back-up")
    page = read(cluster, job)
    assert (page.state, page.lines, page.ended) == (LogState.ENDED, ("a line", "the last line"), True)


def test_a_task_whose_runner_was_lost_waits_for_no_runner_any_more(cluster):
    job = cluster.start("validate").job
    cluster.fail_task("validate")
    assert read(cluster, job).state is LogState.LOST


def test_a_job_that_another_attempt_has_replaced_has_ended(cluster):
    first, second = cluster.start("validate").job, cluster.start("validate", attempt=2).job
    assert [read(cluster, job).state for job in (first, second)] == [LogState.LOST, LogState.WAITING]


def test_tasks_of_a_deployment_that_a_later_one_has_followed_have_ended(cluster):
    job = cluster.start("validate").job
    cluster.fail()
    cluster.end_failed()
    cluster.begin(cluster.deployed(2))
    assert read(cluster, job).state is LogState.LOST

"""Task jobs as ECS runs them: a process that reports to the state machine."""

from __future__ import annotations

import hashlib
import json
import signal

import pytest

from tests.runner.conftest import Bench
from tests.runner.git_forge import CLONE_TOKEN
from tidegate.aws.records import pack, unpack
from tidegate.clusters.adapters.files import read_result
from tidegate.clusters.rules.order import TaskOrder, order_key, result_key
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.deploys.rules.cluster import ClusterKind, CurrentCluster, DeclaredCluster, ProviderName
from tidegate.deploys.rules.job import Job, JobKind, job_digest, task_job
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.plans.rules.plan import Artifact

SPEC = "network/cluster.yaml"
SHOP = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.COMMAND, SPEC)
CURRENT = CurrentCluster("1.33", "", ProviderName.COMMAND, "1")
TASK = "delete-workload-cluster"


@pytest.fixture
def task(bench: Bench):
    """Plan the deletion of a cluster by this command, and return the job that runs it."""

    def make(command: str) -> Job:
        spec = f'kubernetes: "1.33"\nprovider: {{tasks: {{{TASK}: {command}}}}}\n'
        sha = bench.forge.commit({SPEC: spec})
        result = bench.plan(sha, run=RunSettings(cluster=SHOP), destroy=True, current=CURRENT)
        plan = Artifact(**result["file"])
        planned = unpack(ClusterPlan, json.loads(bench.aws.objects[plan.key]))
        order = TaskOrder(planned.cluster, planned.workflow.operation, TASK, 1, plan)
        content = json.dumps(pack(order), sort_keys=True).encode()
        name = f"network-{sha[:7]}-task-1"
        bench.aws.objects[order_key(name)] = content
        stored = Artifact(order_key(name), hashlib.sha256(content).hexdigest())
        apply = bench.job(JobKind.APPLY, sha, result, run=RunSettings(cluster=SHOP))
        job = task_job(name, apply, stored, 900)
        assert job_digest(job)
        bench.aws.add_job(job, CLONE_TOKEN)
        bench.aws.answers.clear()
        return job

    return make


def test_a_task_stores_its_result_and_reports(bench, task):
    job = task('["true"]')
    ended = bench.run(job)
    assert ended.code == 0, ended.output
    assert bench.result() == {"job": job.id}
    assert read_result(bench.aws.objects[result_key(job.id)]).values == ()
    assert bench.left_behind() == []


def test_tokens_that_nobody_has_told_the_runner_are_masked(bench, task):
    token = f"eyJ{'h' * 20}.{'p' * 40}.{'s' * 40}"
    ended = bench.run(task(f"[echo, {token}]"))
    assert ended.code == 0, ended.output
    assert token not in ended.output


def test_exit_code_75_is_what_the_machine_tries_again(bench, task):
    bench.run(task("[sh, -c, exit 75]"))
    assert bench.result()["error"] == "ClusterUnreachable"


def test_another_exit_code_is_a_failure_with_the_last_lines(bench, task):
    bench.run(task('[sh, -c, "echo it is on fire; exit 1"]'))
    assert bench.result()["error"] == "TaskFailed"
    assert "it is on fire" in bench.result()["last_lines"]


def test_a_task_that_is_told_to_stop_interrupts_its_command(bench, task):
    job = task("[sh, -c, \"trap 'exit 9' INT; echo begun; while :; do sleep 0.1; done\"]")
    process = bench.start(job)
    bench.aws.wait_for(lambda: "begun" in bench.aws.log_lines(job.id))
    process.send_signal(signal.SIGTERM)
    bench.finish(process)
    assert bench.result()["error"] == "Interrupted"

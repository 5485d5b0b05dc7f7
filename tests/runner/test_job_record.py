"""The runner reads and takes what the functions' adapter stored, on the same table, and the other way round."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from runner.faults import Interrupted
from runner.interruption import Interruption
from runner.job_record import JobNotForUs, JobRecord, runner_name
from runner.log import JobLog
from runner.log_store import LogSender
from runner.masking import Masker
from tests.e2e.deadlines import eventually
from tests.http_server import server
from tidegate.aws.client import Aws
from tidegate.deploys.adapters.job_items import RECORD, job_key
from tidegate.deploys.adapters.jobs import DynamoJobLogs, DynamoJobs
from tidegate.deploys.rules.aws_target import AwsTarget
from tidegate.deploys.rules.job import Job, JobKind, TakenJob, job_digest
from tidegate.deploys.rules.workflow import APPLY_STEPS, PLAN_STEPS, RunOn, RunSettings, StepKind, WorkflowStep
from tidegate.plans.rules.plan import Artifact
from tidegate.roots.rules.root import Engine, EngineName, Root
from tidegate.rules.errors import ApplyAlreadyStarted

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-west-1"}
JOB = Job(
    id="network-apply-1",
    deployment="network",
    kind=JobKind.APPLY,
    repository="acme/infra",
    sha="0123456789" * 4,
    clone_url="https://git.example.com/acme/infra",
    root=Root("network", "live/network", "staging", Engine(EngineName.TOFU, "1.10.6")),
    plan_file=Artifact("plans/x/plan.tfplan", "00"),
    lock_file=None,
    engine_version="1.10.6",
)
TAKEN = TakenJob(JOB, "token", "clone-token")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture
def table(endpoint: str, request: pytest.FixtureRequest) -> Iterator[tuple[Any, str]]:
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="eu-west-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    name = f"table-{abs(hash(request.node.name))}"
    keys = {"pk": "HASH", "sk": "RANGE"}
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in keys.items()],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
    )
    yield client, name
    client.close()


@pytest.fixture
def jobs(table: tuple[Any, str]) -> DynamoJobs:
    return DynamoJobs(*table)


@pytest.fixture
def aws(endpoint: str) -> Iterator[Aws]:
    aws = Aws({**KEYS, "AWS_ENDPOINT_URL": endpoint})
    yield aws
    aws.close()


@pytest.fixture
def record(aws: Aws, table: tuple[Any, str]) -> JobRecord:
    return JobRecord(aws, table[1], JOB.id, job_digest(JOB))


def test_the_runner_takes_what_the_functions_handed_over(jobs: DynamoJobs, record: JobRecord) -> None:
    jobs.create(JOB)
    assert record.specification() == JOB
    assert jobs.hand_over(JOB.id, "token", "clone-token")
    assert record.take("task-1", 5, Interruption()) == TAKEN
    assert jobs.runner(JOB.id) == "task-1"
    assert jobs.token(JOB.id) == "token"
    assert not jobs.hand_over(JOB.id, "token-2", "clone-token-2")
    with pytest.raises(ApplyAlreadyStarted):
        jobs.take(JOB.id, "task-2")


def test_a_job_whose_record_was_altered_is_neither_prepared_nor_taken(jobs: DynamoJobs, record: JobRecord) -> None:
    jobs.create(replace(JOB, plan_file=Artifact("plans/another/plan.tfplan", "11")))
    assert jobs.hand_over(JOB.id, "token", "clone-token")
    with pytest.raises(JobNotForUs, match="was changed"):
        record.specification()
    with pytest.raises(JobNotForUs, match="was changed"):
        record.take("task-1", 5, Interruption())
    assert jobs.runner(JOB.id) is None


def test_a_job_with_steps_is_read_as_it_was_stored(jobs: DynamoJobs, aws: Aws, table: tuple[Any, str]) -> None:
    steps = (
        WorkflowStep(StepKind.ENV, ("print", "-n"), "TOKEN", sensitive=True),
        WorkflowStep(StepKind.RUN, ("make", "ü\n"), env=(("A", "1"), ("B", "$A")), run_on=RunOn.ALWAYS),
        *PLAN_STEPS,
    )
    job = replace(
        JOB,
        stack="prod",
        run=RunSettings("prod", (("STACK_VAR_A", "b"),), steps, APPLY_STEPS, aws=AwsTarget("plan", "apply")),
    )
    jobs.create(job)
    assert JobRecord(aws, table[1], job.id, job_digest(job)).specification() == job
    with pytest.raises(JobNotForUs, match="was changed"):
        JobRecord(aws, table[1], job.id, job_digest(replace(job, run=RunSettings()))).specification()


def test_a_job_that_a_version_without_steps_began_is_taken(table: tuple[Any, str], aws: Aws) -> None:
    client, name = table
    fields = {key: value for key, value in asdict(JOB).items() if key not in {"run", "stack"}}
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    key = {"pk": {"S": job_key(JOB.id)}, "sk": {"S": RECORD}}
    client.put_item(TableName=name, Item={**key, "specification": {"S": json.dumps(fields)}})
    assert JobRecord(aws, name, JOB.id, digest).specification() == JOB


def test_the_runner_waits_until_the_job_is_handed_over(jobs: DynamoJobs, aws: Aws, table: tuple[Any, str]) -> None:
    jobs.create(JOB)
    record = JobRecord(
        aws, table[1], JOB.id, job_digest(JOB), wait=lambda _: jobs.hand_over(JOB.id, "token", "clone-token") and None
    )
    assert record.take("task-1", 5, Interruption()) == TAKEN


def test_a_taken_job_and_a_closed_one_are_not_for_another_runner(jobs: DynamoJobs, record: JobRecord) -> None:
    jobs.create(JOB)
    jobs.hand_over(JOB.id, "token", "clone-token")
    record.take("task-1", 5, Interruption())
    with pytest.raises(JobNotForUs, match="another runner"):
        record.take("task-2", 5, Interruption())
    assert jobs.close(JOB.id)
    with pytest.raises(JobNotForUs, match="closed"):
        record.take("task-1", 5, Interruption())


def test_a_runner_that_is_told_to_stop_takes_nothing(jobs: DynamoJobs, record: JobRecord) -> None:
    jobs.create(JOB)
    jobs.hand_over(JOB.id, "token", "clone-token")
    interruption = Interruption()
    interruption.request("stop")
    with pytest.raises(Interrupted):
        record.take("task-1", 5, interruption)
    assert jobs.runner(JOB.id) is None


def test_the_log_is_read_back_line_by_line(aws: Aws, table: tuple[Any, str], tmp_path: Path) -> None:
    log = JobLog(tmp_path / "log", Masker(), io.StringIO())
    sender = LogSender(aws, table[1], JOB.id, log)
    sender.start()
    for number in range(500):
        log.write(f"line {number}\n".encode())
    log.write("ünïcode \x1b[31m \n".encode())
    sender.finish()
    log.close()
    logs = DynamoJobLogs(*table)
    chunks = logs.read(JOB.id, 0)
    assert [line for chunk in chunks for line in chunk.lines] == log.path.read_text().splitlines()
    assert chunks[0].position == 0
    assert logs.read(JOB.id, chunks[-1].position) == [chunks[-1]]


def test_of_a_log_without_an_end_the_log_store_gets_what_pages_show(
    aws: Aws, table: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.log_store.LONGEST_LOG", 1_000)
    log = JobLog(tmp_path / "log", Masker(), io.StringIO())
    sender = LogSender(aws, table[1], JOB.id, log)
    sender.start()
    logs, lines = DynamoJobLogs(*table), b"again and again\n" * 100
    log.write(lines)
    eventually(lambda: logs.read(JOB.id, 0), what="the first lines")
    log.write(lines * 10)
    sender.finish()
    log.close()
    assert sum(len(chunk.lines) for chunk in logs.read(JOB.id, 0)) <= 100


def test_a_task_is_named_by_its_arn() -> None:
    with server(lambda request: (200, {}, b'{"TaskARN": "arn:task"}' if request.path == "/v4/x/task" else b"")) as (
        url,
        _,
    ):
        assert runner_name({"ECS_CONTAINER_METADATA_URI_V4": f"{url}/v4/x"}) == "arn:task"


@pytest.mark.parametrize("answer", [b"", b"{}"])
def test_without_an_answer_from_ecs_the_name_is_still_unique(answer: bytes) -> None:
    with server(lambda _: (200, {}, answer)) as (url, _):
        names = {runner_name({"ECS_CONTAINER_METADATA_URI_V4": url}) for _ in range(3)}
    assert len(names) == 3

"""The runner as a function: calls come through Lambda's Runtime API, and a plan that is too large says so."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from runner import on_lambda
from runner.faults import CodeRefused, EngineFailed, Interrupted, RunnerFault
from runner.interruption import Interruption
from runner.lambda_limits import LambdaLimits
from runner.on_lambda import Call, is_exposed, job_environment, serve
from runner.run import ExitCode
from tests.runner.conftest import Bench
from tests.runner.engines import fake_engine
from tests.runner.fake_aws import JOB_TOKEN, START_TOKEN
from tidegate.deploys.rules.job import JobKind, job_digest
from tidegate.deploys.rules.plan_runner import Limit
from tidegate_local.processes.runtime_api import Invocation, RuntimeApi

JOB = {"job": "job-1", "digest": "digest", "token": "token"}
ONE_RESOURCE = 'resource "terraform_data" "network" { input = "10.0.0.0/16" }'


def asked(event=JOB, number=1):
    return Call(f"request-{number}", event, time.time() + 900)


class Api:
    """Hands out calls, and remembers what was answered."""

    def __init__(self, *calls):
        self.calls, self.answered = list(calls), []

    def next(self):
        if not self.calls:
            raise ConnectionError
        return self.calls.pop(0)

    def answer(self, call):
        self.answered.append((call.id, "answer"))

    def fail(self, call, kind, message):
        self.answered.append((call.id, kind, message))


def served(*calls, code=ExitCode.REPORTED):
    api, given = Api(*calls), []
    with pytest.raises(ConnectionError):
        serve(api, {}, lambda environ: given.append(environ) or code)
    return api.answered, given


@pytest.mark.parametrize("code", [ExitCode.REPORTED, ExitCode.NOBODY_WAITS, ExitCode.NOT_OURS])
def test_what_needs_no_other_result_is_answered(code):
    assert served(asked(), code=code)[0] == [("request-1", "answer")]


@pytest.mark.parametrize(
    ("code", "kind"),
    [(ExitCode.NOT_REPORTED, "Runtime.ExitError"), (ExitCode.STUCK, "Runtime.ExitError"), (137, "Runtime.OutOfMemory")],
)
def test_what_left_no_result_is_a_failure(code, kind):
    [(_, told, _)], _ = served(asked(), code=code)
    assert told == kind


def test_an_environment_serves_one_job_and_refuses_every_other():
    answered, given = served(asked(), asked({**JOB, "job": "job-2"}, 2), asked(number=3))
    assert [each[:2] for each in answered] == [
        ("request-1", "answer"),
        ("request-2", "Refused"),
        ("request-3", "answer"),
    ]
    assert [each["TIDEGATE_JOB"] for each in given] == ["job-1", "job-1"]


def test_a_plan_has_13_minutes_or_what_lambda_leaves_of_them():
    environ = job_environment({"TIDEGATE_TABLE": "table"}, asked())
    assert environ["TIDEGATE_TABLE"] == "table"
    assert (environ["TIDEGATE_START_TOKEN"], environ["TIDEGATE_RUNNER"]) == ("token", "lambda:request-1")
    assert 779 < float(environ["TIDEGATE_PLAN_SECONDS"]) <= 780
    assert 29 < float(job_environment({}, Call("1", JOB, time.time() + 150))["TIDEGATE_PLAN_SECONDS"]) <= 30
    assert float(job_environment({}, Call("1", JOB, time.time()))["TIDEGATE_PLAN_SECONDS"]) == 1


def test_credentials_that_another_process_shows_are_found(tmp_path):
    def process(number, secret):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "environ").write_bytes(b"A=1\0AWS_SECRET_ACCESS_KEY=" + secret)

    process(os.getpid(), b"key")
    process(1, b"other")
    (tmp_path / "2").mkdir()
    environ = {"AWS_SECRET_ACCESS_KEY": "key"}
    assert not is_exposed(environ, tmp_path)
    process(3, b"key")
    assert is_exposed(environ, tmp_path)
    assert not is_exposed({}, tmp_path)


def test_a_runner_whose_credentials_can_be_read_starts_nothing_and_says_so(bench: Bench, monkeypatch):
    monkeypatch.setattr(on_lambda, "is_exposed", lambda _environ: True)
    environ = {"TIDEGATE_START_TOKEN": START_TOKEN, "AWS_ENDPOINT_URL": bench.aws.url, "AWS_REGION": "eu-west-1"}
    keys = {"AWS_ACCESS_KEY_ID": "AKIARUNNER", "AWS_SECRET_ACCESS_KEY": "secret"}
    assert on_lambda.run_apart({**environ, **keys}) == ExitCode.REPORTED
    operation, told = bench.aws.answer(START_TOKEN)
    assert (operation, told["error"]) == ("failure", "RunnerFault")
    assert "It runs on Fargate" in told["message"]


@pytest.fixture
def runtime(bench: Bench) -> Iterator[Callable[..., Invocation]]:
    """Return what calls the program as Lambda does, with a job, and waits until it has answered."""
    api = RuntimeApi()
    # Tests that run beside this one have the usual key in their environments, which counts as exposed.
    bench.environ["AWS_SECRET_ACCESS_KEY"] = f"runner-secret-key-{secrets.token_hex(8)}"

    def call(job, **environ: str) -> Invocation:
        bench.start(job, AWS_LAMBDA_RUNTIME_API=api.address, **environ)
        event = f'{{"job": "{job.id}", "digest": "{job_digest(job)}", "token": "{START_TOKEN}"}}'
        invocation = Invocation("request-1", event.encode(), "arn:function", 900)
        api.events.put(invocation)
        assert invocation.answered.wait(60)
        return invocation

    yield call
    api.close()


@pytest.fixture
def program(monkeypatch):
    """Let the bench start the function's program in place of the task's."""
    start = subprocess.Popen

    def started(argv, **options):
        return start([*argv[:2], "runner.on_lambda"] if argv[1:] == ["-m", "runner"] else argv, **options)

    monkeypatch.setattr(subprocess, "Popen", started)


def test_a_call_is_a_plan(bench: Bench, commit, runtime, program):
    job = bench.job(JobKind.PLAN, commit(ONE_RESOURCE))
    assert not runtime(job).failed
    assert bench.result()["changes"]["add"] == 1
    assert bench.aws.record(job.id)["taken_by"] == {"S": "lambda:request-1"}
    assert "runner-secret-key" not in bench.stored_log(job.id)


def test_a_plan_out_of_time_is_interrupted_and_says_that_it_moves(bench: Bench, commit, runtime, program):
    path = fake_engine(bench, "1.11.4", "plan", "exec sleep 60")
    job = bench.job(JobKind.PLAN, commit(ONE_RESOURCE))
    assert not runtime(job, PATH=path, **{on_lambda.TRIAL_SECONDS: "1"}).failed
    operation, told = bench.aws.answer(JOB_TOKEN)
    assert (operation, told["error"]) == ("failure", "TooLargeForLambda")
    assert bench.aws.record(job.id)["met_limit"] == {"S": "TIME"}
    assert "needs more than 13 minutes. Tidegate moves it to Fargate" in bench.stored_log(job.id)


class Record:
    def __init__(self):
        self.told = []

    def report_limit(self, limit):
        self.told.append(limit)


@pytest.fixture
def vmstat(tmp_path):
    file = tmp_path / "vmstat"
    file.write_text("nr_free_pages 1\noom_kill 2\n")
    return file


def limits(tmp_path, vmstat, seconds=60.0):
    return LambdaLimits(Interruption(), seconds, tmp_path, vmstat)


def met(watching, fault, lines=""):
    record = Record()
    judged = watching.judged(fault, lines, record)
    assert (judged is not fault) == bool(record.told)
    return record.told


def test_a_failure_for_another_reason_stays_what_it_is(tmp_path, vmstat):
    assert met(limits(tmp_path, vmstat), EngineFailed("Error: no such resource"), "Error: no such resource") == []


def test_a_kill_by_the_kernel_means_that_memory_was_too_little(tmp_path, vmstat):
    watching = limits(tmp_path, vmstat)
    vmstat.write_text("oom_kill 3\n")
    assert met(watching, EngineFailed("the plugin did not respond")) == [Limit.MEMORY]


def test_where_the_kernel_tells_nothing_nothing_is_concluded(tmp_path):
    assert met(limits(tmp_path, tmp_path / "missing"), RunnerFault("fault")) == []


def test_a_full_disk_is_known_by_what_the_engine_says_or_by_what_is_free(tmp_path, vmstat, monkeypatch):
    assert met(limits(tmp_path, vmstat), EngineFailed("failed"), "write: No space left on device") == [Limit.DISK]
    monkeypatch.setattr("runner.lambda_limits.shutil.disk_usage", lambda _path: SimpleNamespace(free=1000))
    assert met(limits(tmp_path, vmstat), EngineFailed("failed")) == [Limit.DISK]


def test_what_is_refused_is_refused_on_fargate_as_well(tmp_path, vmstat):
    watching = limits(tmp_path, vmstat)
    vmstat.write_text("oom_kill 3\n")
    assert met(watching, CodeRefused("not allowed")) == []


def test_what_somebody_cancelled_is_not_too_large(tmp_path, vmstat):
    watching = limits(tmp_path, vmstat)
    watching._interruption.request("This plan was cancelled or has expired.")
    vmstat.write_text("oom_kill 3\n")
    assert met(watching, Interrupted("interrupted")) == []

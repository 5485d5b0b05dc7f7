"""The runner as a Lambda function: ``python -m runner.on_lambda`` is its image's entry point there.

It gets calls from Lambda's Runtime API (AWS Lambda, Using the Lambda runtime API). Each call is a job, in a separate
process. Each job is a tenant, so Lambda never gives an environment to a second job; an environment that gets another
job refuses it.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.__main__ import keep_to_itself, main
from runner.report import NobodyWaits, Reporter
from runner.run import ExitCode
from tidegate.aws.client import Aws, AwsError
from tidegate.deploys.rules.plan_runner import PLAN_MINUTES, lambda_runner

#: Seconds before Lambda ends a call: for an interrupted engine, and for the report.
_STOP_SECONDS, _RESERVE_SECONDS = 60.0, 120.0
#: Exit codes for answered or obsolete jobs: Lambda need not report a failure.
_DONE = frozenset({ExitCode.REPORTED, ExitCode.NOBODY_WAITS, ExitCode.NOT_OURS})
_KILLED = 128
#: Sets a shorter time limit of plans, for experiments.
TRIAL_SECONDS = "TIDEGATE_TRIAL_PLAN_SECONDS"
_EXPOSED = (
    "The plan did not start on Lambda, because another process of the environment exposes the runner's credentials "
    "to the engine. It runs on Fargate instead."
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its id, its payload, and when Lambda ends it (seconds since 1970)."""

    id: str
    event: Mapping[str, Any]
    deadline: float


class RuntimeApi:
    """Lambda's Runtime API: gives calls and takes answers."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address)

    def next(self) -> Call:
        """Wait for the next call, without a limit."""
        headers, body = self._ask("GET", "invocation/next")
        deadline = int(headers["Lambda-Runtime-Deadline-Ms"]) / 1000
        return Call(headers["Lambda-Runtime-Aws-Request-Id"], json.loads(body), deadline)

    def answer(self, call: Call) -> None:
        self._ask("POST", f"invocation/{call.id}/response", {})

    def fail(self, call: Call, kind: str, message: str) -> None:
        """Report that a call failed: Lambda passes it on to the failure destination."""
        self._ask("POST", f"invocation/{call.id}/error", {"errorType": kind, "errorMessage": message})

    def _ask(self, method: str, path: str, said: Mapping[str, str] | None = None) -> tuple[Mapping[str, str], bytes]:
        body = None if said is None else json.dumps(said)
        self._connection.request(method, f"/2018-06-01/runtime/{path}", body)
        response = self._connection.getresponse()
        content = response.read()
        return dict(response.getheaders()), content


def serve(api: RuntimeApi, environ: Mapping[str, str], run: Callable[[Mapping[str, str]], int]) -> None:
    """Run jobs until Lambda ends this environment."""
    only = ""
    while True:
        call = api.next()
        job = str(call.event["job"])
        if only and job != only:
            api.fail(call, "Refused", f"This Lambda environment already ran the job {only}, and runs no other.")
            continue
        only = job
        code = run(job_environment(environ, call))
        if code in _DONE:
            api.answer(call)
        else:
            api.fail(call, *_failure(code))


def job_environment(environ: Mapping[str, str], call: Call) -> dict[str, str]:
    """Return the environment of a job: as a task's, with Lambda's time limit."""
    left = call.deadline - time.time() - _RESERVE_SECONDS
    seconds = min(float(environ.get(TRIAL_SECONDS) or PLAN_MINUTES * 60), left)
    return {
        **environ,
        "TIDEGATE_JOB": str(call.event["job"]),
        "TIDEGATE_JOB_DIGEST": str(call.event["digest"]),
        "TIDEGATE_START_TOKEN": str(call.event["token"]),
        "TIDEGATE_RUNNER": lambda_runner(call.id),
        "TIDEGATE_PLAN_SECONDS": f"{max(1.0, seconds):.1f}",
        "TIDEGATE_STOP_SECONDS": f"{_STOP_SECONDS:.0f}",
        "TIDEGATE_DISPATCH_SECONDS": "60",
    }


def _failure(code: int) -> tuple[str, str]:
    if code == _KILLED + 9:
        return "Runtime.OutOfMemory", "The runner was killed: signal: killed"
    return "Runtime.ExitError", f"The runner exited with code {code}."


def run_apart(environ: Mapping[str, str]) -> int:
    """Run the runner's program in a separate process, and return its exit code, 128 and more for a signal's."""
    if is_exposed(environ):
        return _refuse(environ)
    child = os.fork()
    if not child:
        code: int = ExitCode.FAULT
        try:
            code = main(environ)
        finally:
            sys.stdout.flush()
            os._exit(code)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return ended if ended >= 0 else _KILLED - ended


def is_exposed(environ: Mapping[str, str], processes: Path = Path("/proc")) -> bool:
    """Tell whether this user may read the function's credentials in another process, as the engine then could."""
    secret = environ.get("AWS_SECRET_ACCESS_KEY", "").encode()
    for process in processes.glob("[0-9]*") if secret else ():
        with suppress(OSError):
            if process.name != str(os.getpid()) and secret in (process / "environ").read_bytes():
                return True
    return False


def _refuse(environ: Mapping[str, str]) -> int:
    print(f"tidegate: {_EXPOSED}", file=sys.stderr, flush=True)  # noqa: T201  # The function's log.
    with closing(Aws(environ)) as aws:
        try:
            Reporter(aws).fail(environ["TIDEGATE_START_TOKEN"], "RunnerFault", _EXPOSED, "")
        except (NobodyWaits, AwsError):
            return ExitCode.NOT_REPORTED
    return ExitCode.REPORTED


if __name__ == "__main__":
    # Before the fork, and before anything of a job runs.
    keep_to_itself()
    with suppress(http.client.HTTPException, ConnectionError):
        serve(RuntimeApi(os.environ["AWS_LAMBDA_RUNTIME_API"]), dict(os.environ), run_apart)

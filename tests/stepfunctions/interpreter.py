"""Takes a state machine along one way in moto's interpreter: what each task answers is written down beforehand.

Nothing is called and no time passes: a limit runs out, and a retry follows, at once. This changes moto for the whole
process, so tests ask for it in another one (conftest.py).
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
from botocore.exceptions import ClientError
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.common.timeouts.timeout import EvalTimeoutError
from moto.stepfunctions.parser.asl.eval.callback.callback import HeartbeatTimeoutError
from moto.stepfunctions.parser.models import StepFunctionsParserBackend

from tests.stepfunctions.contracts import REPORTED, STOPPED
from tests.stepfunctions.histories import Edge, read_history
from tests.stepfunctions.machines import read
from tidegate_local.moto import states_shims
from tidegate_local.moto.hub import HUB

_REGION, _ACCOUNT = "us-east-1", "123456789012"
_ROLE = f"arn:aws:iam::{_ACCOUNT}:role/machine"
_SECONDS = 60.0
_LIMITS = {"States.Timeout": EvalTimeoutError, "States.HeartbeatTimeout": HeartbeatTimeoutError}


@dataclass(frozen=True)
class Fails:
    """A task that fails: by a limit, by the service that it calls, in its function, or by what answers its token."""

    error: str
    cause: str = "told to fail"


Answer = Mapping[str, Any] | Fails


@dataclass(frozen=True)
class Walked:
    """What an execution did: its states, the ways out of them, and what each task was asked (state, payload)."""

    states: tuple[str, ...]
    edges: frozenset[Edge]
    end: str | None
    asked: tuple[tuple[str, Mapping[str, Any]], ...]


class _Script:
    """What the tasks answer; the last answer of a state is repeated."""

    def __init__(self, answers: Mapping[str, Sequence[Answer]], backend: StepFunctionsParserBackend) -> None:
        self._answers = {state: list(each) for state, each in answers.items()}
        self._backend = backend
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def __call__(self, state: str, payload: Mapping[str, Any], operation: str, token: str = "") -> Answer:
        """Answer, by the token if there is one. Raise what AWS would."""
        self.asked.append((state, payload))
        answers = self._answers[state]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Fails):
            if answer.error in _LIMITS:
                raise _LIMITS[answer.error]
            service, _, code = answer.error.partition(".")
            if code:
                error = {"Code": answer.error if service == "AmazonECS" else code, "Message": answer.cause}
                metadata = {"HTTPStatusCode": 400, "RequestId": ""}
                raise ClientError({"Error": error, "ResponseMetadata": metadata}, operation)
            if token and answer.error in REPORTED | {STOPPED}:
                self._backend.send_task_failure(token, answer.error, answer.cause)
        elif token:
            self._backend.send_task_success(token, json.dumps(answer))
        return answer


class _Service:
    """Stands for a client of Lambda, ECS or Step Functions. A task is known by the name of its state."""

    def __init__(self, service: str, script: _Script) -> None:
        self.meta = _meta(service)
        self._script = script
        self._children: dict[str, Answer] = {}

    def invoke(self, **given: Any) -> dict[str, Any]:
        payload = json.loads(given["Payload"])
        token = payload.get("token", "")
        answer = self._script(given["FunctionName"], payload, "Invoke", token)
        failed = isinstance(answer, Fails) and not (token and answer.error in REPORTED | {STOPPED})
        said = {"errorType": answer.error, "errorMessage": answer.cause} if isinstance(answer, Fails) else answer
        content = io.BytesIO(json.dumps({} if token and not failed else said).encode())
        return {"StatusCode": 200, "Payload": content, **({"FunctionError": "Unhandled"} if failed else {})}

    def run_task(self, **given: Any) -> dict[str, Any]:
        (container,) = given["overrides"]["containerOverrides"]
        environment = {item["name"]: item["value"] for item in container["environment"]}
        self._script(given["cluster"], environment, "RunTask", environment["TIDEGATE_START_TOKEN"])
        return {"tasks": [], "failures": []}

    def start_execution(self, **given: Any) -> dict[str, Any]:
        arn = f"{_ROLE}:{given['name']}"
        assert arn not in self._children, f"an execution {given['name']} was started before"
        self._children[arn] = self._script(given["stateMachineArn"], json.loads(given["input"]), "StartExecution")
        return {"executionArn": arn, "startDate": datetime.now(UTC)}

    def describe_execution(self, **given: Any) -> dict[str, Any]:
        child = self._children[given["executionArn"]]
        status, output = ("FAILED", {}) if isinstance(child, Fails) else ("SUCCEEDED", child)
        ended = {"status": status, "output": json.dumps(output)}
        when = datetime.now(UTC)
        return {**given, **ended, "name": "child", "startDate": when, "stopDate": when}


@cache
def _meta(service: str) -> Any:
    return boto3.client(service, region_name=_REGION, aws_access_key_id="none", aws_secret_access_key="none").meta


@cache
def _backend() -> StepFunctionsParserBackend:
    states_shims.install()
    retrier_decl.time = SimpleNamespace(sleep=lambda _seconds: None)
    return StepFunctionsParserBackend(_REGION, _ACCOUNT)


@cache
def _machine(name: str) -> str:
    definition = read(name)
    for state, fields in definition.states.items():
        if fields["Type"] == "Wait":
            fields["Seconds"] = 0
        if "MaxConcurrency" in fields:
            fields["MaxConcurrency"] = 1
        for key in ("FunctionName", "Cluster", "StateMachineArn"):
            if key in fields.get("Arguments", {}):
                fields["Arguments"][key] = state
    made = _backend().create_state_machine(name, json.dumps(definition.definition), _ROLE)
    return str(made.arn)


_numbers = itertools.count()


def walk(machine: str, given: Mapping[str, Any], answers: Mapping[str, Sequence[Answer]]) -> Walked:
    """Run an execution to its end."""
    arn, script = _machine(machine), _Script(answers, _backend())
    services: dict[str, _Service] = {}
    HUB.client = lambda _role, _region, service: services.setdefault(service, _Service(service, script))
    execution = _backend().start_execution(arn, f"way-{next(_numbers)}", json.dumps(given))
    while execution.exec_status == "RUNNING":
        ends = HUB.ends
        if execution.exec_status == "RUNNING":
            HUB.wait_for_end(ends, _SECONDS)
            assert HUB.ends > ends, f"{machine} does not end: {script.asked}"
    history = read_history(machine, execution.to_history_output()["events"])
    return Walked(history.states, history.edges, history.end, tuple(script.asked))

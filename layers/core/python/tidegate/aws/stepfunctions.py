"""Step Functions: the ports ``Workflows``, ``DriftRuns``, ``UpdateWorkflows`` and ``ClusterWorkflows``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from tidegate.aws.boto import cloud_errors, error_code
from tidegate.rules.errors import NotFound, TooLate

#: Errors for an expired token: TaskTimedOut on AWS; other implementations say InvalidToken.
_TOO_LATE = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})
_NO_EXECUTION = "ExecutionDoesNotExist"
#: The error of a stopped pull-request execution.
OVERTAKEN = "Overtaken"
_GOING_ON = frozenset({"RUNNING", "PENDING_REDRIVE"})
#: Step Functions' limits in characters.
MAXIMUM_ERROR, MAXIMUM_CAUSE = 256, 32_768


class StepFunctionsWorkflows:
    """Starts the deploy machine and the pull-request machine (ARNs) and settles task tokens."""

    def __init__(self, client: Any, deploy_machine: str, pull_request_machine: str = "") -> None:
        self._client = client
        self._deploy_machine, self._pull_request_machine = deploy_machine, pull_request_machine

    def start_deploy(self, execution: str, queue: str) -> None:
        _start(self._client, self._deploy_machine, execution, {"queue": queue})

    def ending(self, execution: str) -> str | None:
        return _ending(self._client, self._deploy_machine, execution)

    def start_pull_request(self, execution: str, pull_request: str, revision: str) -> None:
        _start(
            self._client, self._pull_request_machine, execution, {"pull_request": pull_request, "revision": revision}
        )

    def stop_pull_request(self, execution: str, cause: str) -> None:
        arn = _execution(self._pull_request_machine, execution)
        with cloud_errors("Step Functions"):
            try:
                self._client.stop_execution(executionArn=arn, error=OVERTAKEN, cause=cause[:MAXIMUM_CAUSE])
            except ClientError as error:
                if error_code(error) != _NO_EXECUTION:
                    raise

    def pull_request_ending(self, execution: str) -> str | None:
        return _ending(self._client, self._pull_request_machine, execution)

    def settle(self, token: str, output: Mapping[str, Any]) -> None:
        self._answer("send_task_success", taskToken=token, output=json.dumps(dict(output)))

    def fail(self, token: str, error: str, cause: str) -> None:
        self._answer("send_task_failure", taskToken=token, error=error[:MAXIMUM_ERROR], cause=cause[:MAXIMUM_CAUSE])

    def _answer(self, operation: str, **arguments: str) -> None:
        with cloud_errors("Step Functions"):
            try:
                getattr(self._client, operation)(**arguments)
            except ClientError as error:
                if error_code(error) in _TOO_LATE:
                    raise TooLate from error
                raise


class StepFunctionsDriftRuns:
    """The port ``DriftRuns`` on the drift machine (its ARN)."""

    def __init__(self, client: Any, machine: str) -> None:
        self._client, self._machine = client, machine

    def start(self, execution: str, repository: str, schedule: str) -> None:
        _start(self._client, self._machine, execution, {"repository": repository, "schedule": schedule})

    def ending(self, execution: str) -> str | None:
        return _ending(self._client, self._machine, execution)


class StepFunctionsUpdates:
    """The port ``UpdateWorkflows`` on the machines ``config-update`` and ``promotion`` (their ARNs)."""

    def __init__(self, client: Any, worker_machine: str, promotion_machine: str) -> None:
        self._client, self._worker_machine, self._promotion_machine = client, worker_machine, promotion_machine

    def start_worker(self, execution: str, repository: str) -> None:
        _start(self._client, self._worker_machine, execution, {"repository": repository})

    def worker_ending(self, execution: str) -> str | None:
        return _ending(self._client, self._worker_machine, execution)

    def start_promotion(self, execution: str, repository: str, entry: str, attempt: int) -> None:
        given = {"repository": repository, "entry": entry, "attempt": attempt}
        _start(self._client, self._promotion_machine, execution, given)

    def promotion_ending(self, execution: str) -> str | None:
        return _ending(self._client, self._promotion_machine, execution)


class StepFunctionsClusters:
    """The port ``ClusterWorkflows`` on the machines whose ARNs begin with ``machines``."""

    def __init__(self, client: Any, machines: str) -> None:
        self._client, self._machines = client, machines

    def start_error(self, execution: str, deployment: str, of: str, error: str, cause: str) -> None:
        given = {"deployment": deployment, "execution": of, "error": error, "cause": cause}
        _start(self._client, f"{self._machines}cluster-error", execution, given)

    def is_running(self, machine: str, execution: str) -> bool:
        try:
            return _ending(self._client, f"{self._machines}{machine}", execution) is None
        except NotFound:
            return False


def _start(client: Any, machine: str, execution: str, given: Mapping[str, object]) -> None:
    with cloud_errors("Step Functions"):
        try:
            client.start_execution(stateMachineArn=machine, name=execution, input=json.dumps(given))
        except ClientError as error:
            if error_code(error) != "ExecutionAlreadyExists":
                raise


def _ending(client: Any, machine: str, execution: str) -> str | None:
    with cloud_errors("Step Functions"):
        try:
            described = client.describe_execution(executionArn=_execution(machine, execution))
        except ClientError as error:
            if error_code(error) != _NO_EXECUTION:
                raise
            raise NotFound("execution", execution) from error
    status = str(described["status"])
    return None if status in _GOING_ON else status


def _execution(machine: str, name: str) -> str:
    return f"{machine.replace(':stateMachine:', ':execution:', 1)}:{name}"

"""Step Functions: the port ``Workflows``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from tidegate.adapters.boto import cloud_errors, error_code
from tidegate.domain.errors import NotFound, TooLate

#: An answer to a token that nobody waits for: TaskTimedOut on AWS; other implementations say InvalidToken.
_TOO_LATE = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})
_GOING_ON = frozenset({"RUNNING", "PENDING_REDRIVE"})
#: Step Functions' limits in characters.
MAXIMUM_ERROR, MAXIMUM_CAUSE = 256, 32_768


class StepFunctionsWorkflows:
    """Starts the deploy machine (an ARN) and answers task tokens."""

    def __init__(self, client: Any, deploy_machine: str) -> None:
        self._client = client
        self._deploy_machine = deploy_machine

    def start_deploy(self, execution: str, queue: str) -> None:
        with cloud_errors("Step Functions"):
            try:
                self._client.start_execution(
                    stateMachineArn=self._deploy_machine, name=execution, input=json.dumps({"queue": queue})
                )
            except ClientError as error:
                if error_code(error) != "ExecutionAlreadyExists":
                    raise

    def ending(self, execution: str) -> str | None:
        machine = self._deploy_machine.replace(":stateMachine:", ":execution:", 1)
        with cloud_errors("Step Functions"):
            try:
                described = self._client.describe_execution(executionArn=f"{machine}:{execution}")
            except ClientError as error:
                if error_code(error) != "ExecutionDoesNotExist":
                    raise
                raise NotFound("execution", execution) from error
        status = str(described["status"])
        return None if status in _GOING_ON else status

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

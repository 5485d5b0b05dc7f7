"""Report to the state machine: the job's result, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runner.heartbeat import GONE
from tidegate.aws.client import Aws, AwsError

#: Step Functions takes 32,768 characters; the rest is left for what encoding adds.
LONGEST_CAUSE = 32_000
LONGEST_MESSAGE = 4_000


class NobodyWaits(Exception):
    """The token was settled before, or has expired."""


class Reporter:
    """Settles task tokens. Each method raises NobodyWaits, or AwsError if AWS cannot be reached."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws

    def succeed(self, token: str, output: Mapping[str, Any]) -> None:
        text = json.dumps(output, ensure_ascii=False, separators=(",", ":"))
        self._answer("SendTaskSuccess", {"taskToken": token, "output": text})

    def fail(self, token: str, error: str, message: str, last_lines: str, mark: str = "") -> None:
        why = cause(message, last_lines, mark)
        self._answer("SendTaskFailure", {"taskToken": token, "error": error, "cause": why})

    def _answer(self, operation: str, payload: Mapping[str, str]) -> None:
        try:
            self._aws.call("states", operation, payload)
        except AwsError as error:
            if error.code in GONE:
                raise NobodyWaits(error.code) from error
            raise


def cause(message: str, last_lines: str, mark: str = "") -> str:
    """Return a failure's cause: JSON of at most LONGEST_CAUSE characters. The end of ``last_lines`` is kept.

    ``mark`` is that of the fault.
    """
    message, more = message[:LONGEST_MESSAGE], {mark: True} if mark else {}
    while True:
        text = json.dumps({"message": message, "last_lines": last_lines, **more}, ensure_ascii=False)
        excess = len(text) - LONGEST_CAUSE
        if excess <= 0:
            return text
        last_lines = last_lines[max(1, excess // 6) :]

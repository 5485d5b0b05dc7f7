"""The job's record: read its specification, wait for its tokens, take it once."""

from __future__ import annotations

import json
import os
import socket
import time
import urllib.parse
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from runner.faults import RunnerFault
from runner.interruption import Interruption
from tidegate.aws.client import Aws, AwsError
from tidegate.deploys.adapters.job_items import LIMIT, RECORD, from_specification, job_key, specification_digest
from tidegate.deploys.rules.issued import from_text
from tidegate.deploys.rules.job import Job, TakenJob
from tidegate.deploys.rules.plan_runner import Limit

#: The dispatch usually takes tens of milliseconds: the first reads are frequent, the later ones cheap.
_FIRST_PAUSE = 0.01
_PAUSE_GROWTH = 1.25
_LONGEST_PAUSE = 1.0
#: The endpoint answers immediately. Without its name a task runs, but the event of its end cannot be matched.
_METADATA_SECONDS = 10


class JobNotForUs(Exception):
    """The job was taken by another runner, was closed, was altered, or was never dispatched."""


class JobRecord:
    """The item ``job#ID`` / ``record``. ``digest`` is that of the job that the state machine began.

    ``wait`` is a pause in seconds that an interruption may end early.
    """

    def __init__(self, aws: Aws, table: str, job: str, digest: str, wait: Callable[[float], None] = time.sleep) -> None:
        self._aws, self._table, self._job, self._digest, self._wait = aws, table, job, digest, wait

    def specification(self) -> Job:
        """Return the job. Raise RunnerFault if there is none, JobNotForUs if it was altered."""
        return self._verified(self._read())

    def _verified(self, item: Mapping[str, Any]) -> Job:
        text = item["specification"]["S"]
        if specification_digest(text) != self._digest:
            raise JobNotForUs(f"The record of job {self._job} was changed after its creation. The runner stops.")
        return from_specification(text)

    def take(self, runner: str, seconds: float, interruption: Interruption) -> TakenJob:
        """Take the job for ``runner`` once it is dispatched. Raise JobNotForUs, or Interrupted."""
        deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
        while time.monotonic() < deadline:
            interruption.check()
            item = self._read()
            if "closed" in item or item.get("taken_by", {}).get("S", runner) != runner:
                raise JobNotForUs(f"Job {self._job} was claimed by another runner, or is closed.")
            job = self._verified(item)
            if "token" in item and self._taken(item["token"]["S"], runner):
                clone_token, identity = (item.get(name, {}).get("S", "") for name in ("clone_token", "identity"))
                return TakenJob(job, item["token"]["S"], clone_token, from_text(identity))
            self._wait(pause)
            pause = min(pause * _PAUSE_GROWTH, _LONGEST_PAUSE)
        raise JobNotForUs(f"Job {self._job} was not dispatched within {seconds:.0f} s.")

    def report_limit(self, limit: Limit) -> None:
        """Record which limit of Lambda the job exceeded. If that fails, the next attempt runs on Fargate as well."""
        update = {
            **self._key(),
            "UpdateExpression": f"SET {LIMIT} = :limit",
            "ExpressionAttributeValues": {":limit": {"S": limit.name}},
        }
        with suppress(AwsError):
            self._aws.call("dynamodb", "UpdateItem", update)

    def _taken(self, token: str, runner: str) -> bool:
        """Take the job if it still has this token. A repeated request takes it again: the answer may be lost."""
        update = {
            **self._key(),
            "UpdateExpression": "SET taken_by = :runner REMOVE clone_token, #identity",
            "ConditionExpression": (
                "#token = :token AND attribute_not_exists(closed) "
                "AND (attribute_not_exists(taken_by) OR taken_by = :runner)"
            ),
            "ExpressionAttributeNames": {"#token": "token", "#identity": "identity"},
            "ExpressionAttributeValues": {":token": {"S": token}, ":runner": {"S": runner}},
        }
        try:
            self._aws.call("dynamodb", "UpdateItem", update)
        except AwsError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            return False  # Taken, closed, or dispatched again since: another read tells.
        return True

    def _read(self) -> dict[str, Any]:
        item: dict[str, Any] = self._aws.call("dynamodb", "GetItem", {**self._key(), "ConsistentRead": True}).get(
            "Item", {}
        )
        if not item:
            raise RunnerFault(f"Job {self._job} does not exist or has expired.")
        return item

    def _key(self) -> dict[str, Any]:
        return {"TableName": self._table, "Key": {"pk": {"S": job_key(self._job)}, "sk": {"S": RECORD}}}


def runner_name(environ: Mapping[str, str]) -> str:
    """Return this task's ARN, the name of a call on Lambda, or else a name of the process."""
    if named := environ.get("TIDEGATE_RUNNER"):
        return named
    metadata = environ.get("ECS_CONTAINER_METADATA_URI_V4")
    if metadata:
        try:
            arn: str = json.loads(_get(f"{metadata}/task"))["TaskARN"]
        except (OSError, ValueError, KeyError):
            pass
        else:
            return arn
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"


def _get(url: str) -> bytes:
    import http.client  # noqa: PLC0415  # Most jobs do without, and it costs time.

    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=_METADATA_SECONDS)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().read()
    finally:
        connection.close()

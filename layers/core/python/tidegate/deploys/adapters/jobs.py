"""Jobs and the logs of running ones: items ``job#ID``, in the format of ``job_items``."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tidegate.aws.records import to_item
from tidegate.aws.table import Table
from tidegate.deploys.adapters.job_items import (
    JOB_SECONDS,
    LIMIT,
    LOG_SECONDS,
    RECORD,
    STOPPED,
    from_specification,
    job_key,
    log_sort_key,
    to_specification,
)
from tidegate.deploys.rules.issued import NOTHING, Issued, from_text, to_text
from tidegate.deploys.rules.job import Job, TakenJob
from tidegate.deploys.rules.plan_runner import Limit
from tidegate.ports import LogChunk
from tidegate.rules.errors import ApplyAlreadyStarted, Conflict, NotFound

_FREE = "attribute_exists(specification) AND attribute_not_exists(taken_by) AND attribute_not_exists(closed)"


class DynamoJobs:
    """The port ``Jobs``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._table = Table(client, table)
        self._now = now

    def create(self, job: Job) -> None:
        specification = to_specification(job)
        item = {
            "pk": job_key(job.id),
            "sk": RECORD,
            "specification": specification,
            "expires_at": self._expiry(),
        }
        try:
            self._table.put(_name(job.id), item, {"ConditionExpression": "attribute_not_exists(pk)"})
        except Conflict:
            if self._item(job.id).get("specification") != specification:
                raise

    def get(self, job: str) -> Job:
        return _job(job, self._item(job))

    def existing(self, jobs: Collection[str]) -> set[str]:
        found = self._table.get_many("Jobs", [(job_key(job), RECORD) for job in sorted(set(jobs))])
        keys = {item["pk"] for item in found if "specification" in item}
        return {job for job in jobs if job_key(job) in keys}

    def hand_over(self, job: str, token: str, clone_token: str, identity: Issued = NOTHING) -> bool:
        values = {":token": token, ":clone_token": clone_token, ":identity": to_text(identity)}
        change = {
            "UpdateExpression": "SET #token = :token, clone_token = :clone_token, #identity = :identity",
            "ConditionExpression": _FREE,
            "ExpressionAttributeNames": {"#token": "token", "#identity": "identity"},
            "ExpressionAttributeValues": to_item(values),
        }
        try:
            self._update(job, change)
        except Conflict:
            self.get(job)
            return False
        return True

    def take(self, job: str, runner: str) -> TakenJob | None:
        change = {
            "UpdateExpression": "SET taken_by = :runner REMOVE clone_token, #identity",
            "ConditionExpression": f"{_FREE} AND attribute_exists(#token)",
            "ExpressionAttributeNames": {"#token": "token", "#identity": "identity"},
            "ExpressionAttributeValues": to_item({":runner": runner}),
        }
        try:
            return _taken(job, self._update(job, change))
        except Conflict:
            return self._not_free(job, runner)

    def _not_free(self, job: str, runner: str) -> TakenJob | None:
        """Return the answer of ``take`` for a job that cannot be taken (again)."""
        item = self._item(job)
        found = _job(job, item)
        if "closed" in item or item.get("taken_by", runner) != runner:
            raise ApplyAlreadyStarted(found.deployment)
        return _taken(job, item) if "taken_by" in item else None

    def token(self, job: str) -> str | None:
        return self._item(job).get("token")

    def runner(self, job: str) -> str | None:
        return self._item(job).get("taken_by")

    def token_of(self, job: str, runner: str) -> str | None:
        item = self._item(job)
        return item.get("token") if item.get("taken_by") == runner else None

    def report_stopped(self, job: str, runner: str) -> None:
        change = {
            "UpdateExpression": f"SET {STOPPED} = :true",
            "ConditionExpression": "taken_by = :runner",
            "ExpressionAttributeValues": to_item({":true": True, ":runner": runner}),
        }
        with suppress(Conflict):
            self._update(job, change)

    def at_large(self, job: str) -> str | None:
        item = self._item(job)
        return None if STOPPED in item else item.get("taken_by")

    def close(self, job: str) -> bool:
        values = {":true": True, ":expires_at": self._expiry()}
        change = {
            "UpdateExpression": "SET closed = :true, expires_at = if_not_exists(expires_at, :expires_at)",
            "ExpressionAttributeValues": to_item(values),
        }
        return "taken_by" in self._update(job, change)

    def report_limit(self, job: str, limit: Limit) -> None:
        values = {":limit": limit.name, ":expires_at": self._expiry()}
        change = {
            "UpdateExpression": f"SET {LIMIT} = :limit, expires_at = if_not_exists(expires_at, :expires_at)",
            "ExpressionAttributeValues": to_item(values),
        }
        self._update(job, change)

    def limit(self, job: str) -> Limit | None:
        name = self._item(job).get(LIMIT)
        return Limit[name] if name else None

    def _expiry(self) -> int:
        return int(self._now()) + JOB_SECONDS

    def _item(self, job: str) -> Mapping[str, Any]:
        return self._table.get(_name(job), job_key(job), RECORD) or {}

    def _update(self, job: str, change: Mapping[str, Any]) -> dict[str, Any]:
        return self._table.update(_name(job), job_key(job), RECORD, change)


def _name(job: str) -> str:
    return f"The job {job}"


def _job(job: str, item: Mapping[str, Any]) -> Job:
    if "specification" not in item:
        raise NotFound("job", job)
    return from_specification(item["specification"])


def _taken(job: str, item: Mapping[str, Any]) -> TakenJob:
    identity = from_text(item.get("identity", ""))
    return TakenJob(_job(job, item), item["token"], item.get("clone_token", ""), identity)


class DynamoJobLogs:
    """The port ``JobLogs``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._table = Table(client, table)
        self._now = now

    def append(self, job: str, chunk: LogChunk) -> None:
        item = {
            "pk": job_key(job),
            "sk": log_sort_key(chunk.position),
            "lines": list(chunk.lines),
            "expires_at": int(self._now()) + LOG_SECONDS,
        }
        self._table.put(f"The log of {job}", item)

    def read(self, job: str, position: int, limit: int | None = None) -> Sequence[LogChunk]:
        return self._between(job, position, 10**10 - 1, limit=limit)

    def last_before(self, job: str, position: int) -> LogChunk | None:
        if position <= 0:
            return None
        return next(iter(self._between(job, 0, position - 1, limit=1, ScanIndexForward=False)), None)

    def _between(self, job: str, first: int, last: int, *, limit: int | None, **query: Any) -> Sequence[LogChunk]:
        items = self._table.query(
            f"The log of {job}",
            limit=limit,
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=to_item(
                {":pk": job_key(job), ":first": log_sort_key(first), ":last": log_sort_key(last)}
            ),
            **query,
        )
        return [LogChunk(int(item["sk"].removeprefix("log#")), tuple(item["lines"])) for item in items]

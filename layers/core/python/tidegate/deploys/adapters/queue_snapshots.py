"""The positions that check runs were last asked to show: items ``line#ID``, one for each deployment.

They are separate from the queue's items, so that reading a queue does not read them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import Table, refusals_of
from tidegate.deploys.rules.queue_snapshot import Shown
from tidegate.ports import QueueSnapshot
from tidegate.rules.errors import CloudUnavailable
from tidegate.rules.timestamp import timestamp_from, timestamp_text

_SHOWN = "shown#"
_AGAIN = "#again"
#: Deployments rarely wait longer; if one does, its update is only requested once more.
_KEPT_SECONDS = 90 * 24 * 3600
#: Items of one batch write, and how often unprocessed items are retried.
_BATCH = 25
_TRIES = 5


def _key(queue: str, sk: str) -> dict[str, Any]:
    return {"pk": f"line#{queue}", "sk": sk}


class DynamoQueueSnapshots:
    """The port ``QueueSnapshots``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._table = Table(client, table)
        self._now = now

    def read(self, queue: str) -> QueueSnapshot:
        items = self._table.query(
            _name(queue),
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=to_item({":pk": f"line#{queue}"}),
        )
        shown, again = {}, None
        for item in items:
            if item["sk"] == _AGAIN:
                again = timestamp_from(item["at"])
            else:
                shown[item["sk"].removeprefix(_SHOWN)] = unpack(Shown, item)
        return QueueSnapshot(shown, again)

    def shown(self, queue: str, deployment: str) -> Shown | None:
        key = _key(queue, f"{_SHOWN}{deployment}")
        item = self._table.get(_name(queue), key["pk"], key["sk"])
        return None if item is None else unpack(Shown, item)

    def write(self, queue: str, shown: Mapping[str, Shown], gone: Collection[str]) -> None:
        puts = [
            {"PutRequest": {"Item": to_item(self._expiring(_key(queue, f"{_SHOWN}{name}") | pack(one)))}}
            for name, one in shown.items()
        ]
        deletes = [{"DeleteRequest": {"Key": to_item(_key(queue, f"{_SHOWN}{name}"))}} for name in gone]
        requests = [*puts, *deletes]
        for start in range(0, len(requests), _BATCH):
            self._write(queue, requests[start : start + _BATCH])

    def expect(self, queue: str, again: datetime) -> None:
        self._table.put(_name(queue), self._expiring(_key(queue, _AGAIN) | {"at": timestamp_text(again)}))

    def _expiring(self, item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "expires_at": int(self._now()) + _KEPT_SECONDS}

    def _write(self, queue: str, requests: list[dict[str, Any]]) -> None:
        for _ in range(_TRIES):
            with refusals_of(_name(queue)):
                answer = self._client.batch_write_item(RequestItems={self._table.name: requests})
            requests = answer.get("UnprocessedItems", {}).get(self._table.name, [])
            if not requests:
                return
        raise CloudUnavailable("DynamoDB", f"{len(requests)} items were not written")


def _name(queue: str) -> str:
    return f"The cached positions of {queue}"

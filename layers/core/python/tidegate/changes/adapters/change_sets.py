"""Deployments of one change: items ``change#ID`` / ``member#STACK#ROOT``, and ``waves#ID`` / ``STACK``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import Table, at_version, reasons, refusals_of
from tidegate.changes.rules.wave import Wave
from tidegate.ports import Enrolled
from tidegate.rules.errors import CloudUnavailable, Conflict
from tidegate.rules.timestamp import timestamp_text

#: As long as the jobs of the deployments.
_KEPT_SECONDS = 90 * 24 * 3600
#: Items of one transaction, and attempts after a conflicting transaction.
_BATCH = 100
_TRIES = 5
_IS_NEWER = "attribute_not_exists(pk) OR requested_at < :requested_at"
_REFUSED = "ConditionalCheckFailed"


class DynamoChangeSets:
    """The port ``ChangeSets``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._table = Table(client, table)
        self._now = now

    def enroll(self, change_set: str, deployments: Sequence[Enrolled]) -> None:
        newest = {(one.stack, one.root): one for one in sorted(deployments, key=lambda one: one.requested_at)}
        every = list(newest.values())
        for start in range(0, len(every), _BATCH):
            self._enroll(change_set, every[start : start + _BATCH])

    def deployments(self, change_set: str) -> Sequence[Enrolled]:
        items = self._items(change_set, _partition(change_set))
        return sorted((unpack(Enrolled, item) for item in items), key=lambda one: (one.stack, one.root))

    def wave(self, change_set: str, stack: str) -> Wave:
        item = self._table.get(_name(change_set), _waves(change_set), stack)
        return Wave(change_set, stack) if item is None else unpack(Wave, item)

    def waves(self, change_set: str) -> Sequence[Wave]:
        items = self._items(change_set, _waves(change_set))
        return sorted((unpack(Wave, item) for item in items), key=lambda one: one.stack)

    def save_wave(self, wave: Wave) -> Wave:
        saved = replace(wave, version=wave.version + 1)
        key = {"pk": _waves(wave.change), "sk": wave.stack}
        self._table.put(_name(wave.change), {**pack(saved), **key, **self._lasting()}, at_version(wave.version))
        return saved

    def _items(self, change_set: str, partition: str) -> Iterable[dict[str, Any]]:
        return self._table.query(
            _name(change_set),
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=to_item({":pk": partition}),
        )

    def _lasting(self) -> dict[str, int]:
        return {"expires_at": int(self._now()) + _KEPT_SECONDS}

    def _enroll(self, change_set: str, wanted: Sequence[Enrolled]) -> None:
        """Write newer deployments. A stored one cancels its transaction, which is repeated without it."""
        for _ in range(_TRIES):
            if not wanted:
                return
            try:
                wanted = self._attempt(change_set, wanted)
            except Conflict:
                continue
        if wanted:
            raise CloudUnavailable("DynamoDB", f"{_name(change_set)} could not be stored: too many concurrent writers")

    def _attempt(self, change_set: str, wanted: Sequence[Enrolled]) -> Sequence[Enrolled]:
        """Return what is still to be written. Raise Conflict after a conflicting transaction."""
        puts = [{"Put": self._put(change_set, one)} for one in wanted]
        try:
            with refusals_of(_name(change_set)):
                self._client.transact_write_items(TransactItems=puts)
        except Conflict as conflict:
            refused = reasons(conflict.__cause__)
            if _REFUSED not in refused:
                raise
            return [one for one, reason in zip(wanted, refused, strict=True) if reason != _REFUSED]
        return ()

    def _put(self, change_set: str, one: Enrolled) -> dict[str, Any]:
        key = {"pk": _partition(change_set), "sk": f"member#{one.stack}#{one.root}"}
        item = {**pack(one), **key, **self._lasting()}
        return {
            "TableName": self._table.name,
            "Item": to_item(item),
            "ConditionExpression": _IS_NEWER,
            "ExpressionAttributeValues": to_item({":requested_at": timestamp_text(one.requested_at)}),
        }


def _partition(change_set: str) -> str:
    return f"change#{change_set}"


def _waves(change_set: str) -> str:
    return f"waves#{change_set}"


def _name(change_set: str) -> str:
    return f"The change {change_set}"

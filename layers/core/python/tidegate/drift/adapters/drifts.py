"""Drift schedules and their results: items ``drift#OWNER/REPO`` / NAME."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import Table, at_version, refusals_of
from tidegate.config.rules.drift import DriftRecord
from tidegate.rules.errors import NotFound

#: Partition of these records in the index that lists them.
OPEN_DRIFTS = "drift"


class DynamoDrifts:
    """The port ``Drifts``."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = Table(client, table)

    def get(self, repository: str, schedule: str) -> DriftRecord:
        item = self._table.get(_name(repository, schedule), _partition(repository), schedule)
        if item is None:
            raise NotFound("schedule", f"{repository} {schedule}")
        return unpack(DriftRecord, item)

    def of(self, repository: str) -> Sequence[DriftRecord]:
        items = self._table.query(
            f"The schedules of {repository}",
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=to_item({":pk": _partition(repository)}),
            ConsistentRead=True,
        )
        return [unpack(DriftRecord, item) for item in items]

    def listed(self) -> Iterable[tuple[str, str]]:
        for item in self._table.open(OPEN_DRIFTS):
            yield item["pk"].removeprefix("drift#"), item["sk"]

    def many(self, schedules: Collection[tuple[str, str]]) -> Sequence[DriftRecord]:
        keys = [(_partition(repository), schedule) for repository, schedule in sorted(set(schedules))]
        found = [unpack(DriftRecord, item) for item in self._table.get_many("Schedules", keys)]
        return sorted(found, key=lambda record: (record.repository, record.entry.name))

    def save(self, record: DriftRecord) -> DriftRecord:
        repository, schedule = record.repository, record.entry.name
        saved = replace(record, version=record.version + 1)
        key = {"pk": _partition(repository), "sk": schedule}
        item = {**pack(saved), **key, "open": OPEN_DRIFTS, "open_since": f"{repository} {schedule}"}
        self._table.put(_name(repository, schedule), item, at_version(record.version))
        return saved

    def remove(self, repository: str, schedule: str) -> None:
        with refusals_of(_name(repository, schedule)):
            key = to_item({"pk": _partition(repository), "sk": schedule})
            self._client.delete_item(TableName=self._table.name, Key=key)


def _partition(repository: str) -> str:
    return f"drift#{repository}"


def _name(repository: str, schedule: str) -> str:
    return f"The schedule {schedule} of {repository}"

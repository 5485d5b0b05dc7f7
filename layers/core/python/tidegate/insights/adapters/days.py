"""The figures of days: items ``insights#OWNER/REPO`` / DATE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tidegate.aws.records import from_item, pack, to_item, unpack
from tidegate.aws.table import Table, at_version, reasons, refusals_of
from tidegate.deploys.adapters.deployments import record_key
from tidegate.insights.rules.day import Day

#: Days that are kept: a year, and a month more for what looks back from a past day.
_KEPT_SECONDS = 400 * 86_400
#: The mark on a deployment's record that it is counted. Saving the record keeps it.
_COUNTED = "counted"
_CONDITION_FAILED = "ConditionalCheckFailed"


class DynamoInsights:
    """The port ``Insights``."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = Table(client, table)

    def get(self, repository: str, date: str) -> Day:
        item = self._table.get(_name(repository), _partition(repository), date)
        return Day(repository, date) if item is None else unpack(Day, item)

    def save(self, day: Day) -> None:
        self._table.put(_name(day.repository), from_item(_put(day)["Item"]), at_version(day.version))

    def count(self, day: Day, deployment: str) -> bool:
        mark = {
            "Key": record_key(deployment),
            "UpdateExpression": "SET #counted = :yes",
            "ConditionExpression": "attribute_exists(pk) AND attribute_not_exists(#counted)",
            "ExpressionAttributeNames": {"#counted": _COUNTED},
            "ExpressionAttributeValues": to_item({":yes": True}),
        }
        actions = [{"Update": {"TableName": self._table.name, **mark}}]
        actions += [{"Put": {"TableName": self._table.name, **_put(day), **at_version(day.version)}}]
        with refusals_of(_name(day.repository)):
            try:
                self._client.transact_write_items(TransactItems=actions)
            except self._client.exceptions.TransactionCanceledException as error:
                if reasons(error)[0] == _CONDITION_FAILED:
                    return False
                raise
        return True

    def read(self, repository: str, first: str, most_reads: int) -> tuple[Sequence[Day], int, bool]:
        found: list[Day] = []
        extra: dict[str, Any] = {}
        for reads in range(1, most_reads + 1):
            with refusals_of(_name(repository)):
                answer = self._client.query(
                    TableName=self._table.name,
                    KeyConditionExpression="pk = :pk AND sk >= :first",
                    ExpressionAttributeValues=to_item({":pk": _partition(repository), ":first": first}),
                    ScanIndexForward=False,
                    **extra,
                )
            found += [unpack(Day, from_item(item)) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return found, reads, True
            extra = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
        return found, most_reads, False


def _put(day: Day) -> dict[str, Any]:
    begins = datetime.fromisoformat(day.date).replace(tzinfo=UTC)
    expires = int(begins.timestamp()) + _KEPT_SECONDS
    packed = pack(replace(day, version=day.version + 1))
    return {"Item": to_item({**packed, "pk": _partition(day.repository), "sk": day.date, "expires_at": expires})}


def _partition(repository: str) -> str:
    return f"insights#{repository}"


def _name(repository: str) -> str:
    return f"The figures of {repository}"

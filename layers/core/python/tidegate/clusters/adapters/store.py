"""The records of clusters: items of the partition ``clusters#OWNER/NAME``.

``cluster#NAME`` is a cluster, ``context#NAME#DEPLOYMENT#KEY`` a value of a workflow's context, ``checkpoint#NAME#KEY``
what was done. Each record is one attribute: fields at the top of an item would put it into indexes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import RECORD, Table, at_version, refusals_of
from tidegate.clusters.rules.record import Checkpoint, ClusterRecord

#: Contexts and checkpoints are for a workflow that is resumed. What has no checkpoint is done again.
KEPT_SECONDS = 90 * 24 * 3600


class DynamoClusters:
    """The port ``ClusterStore``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._table = Table(client, table)
        self._now = now

    def cluster(self, repository: str, name: str) -> ClusterRecord | None:
        item = self._table.get(f"The cluster {name}", _pk(repository), f"cluster#{name}")
        return unpack(ClusterRecord, item[RECORD]) if item else None

    def clusters(self, repository: str) -> Sequence[ClusterRecord]:
        return [unpack(ClusterRecord, item[RECORD]) for item in self._beginning_with(repository, "cluster#")]

    def save(self, *records: ClusterRecord) -> Sequence[ClusterRecord]:
        saved = [replace(each, version=each.version + 1) for each in records]
        puts = [{"Put": self._put(after, before.version)} for before, after in zip(records, saved, strict=True)]
        with refusals_of(f"The clusters {', '.join(each.name for each in records)}"):
            self._client.transact_write_items(TransactItems=puts)
        return saved

    def context(self, repository: str, name: str, deployment: str) -> Mapping[str, str]:
        items = self._beginning_with(repository, f"context#{name}#{deployment}#")
        return {item["key"]: item["value"] for item in items}

    def keep_values(self, repository: str, name: str, deployment: str, values: Mapping[str, str]) -> None:
        for key, value in values.items():
            item = {"sk": f"context#{name}#{deployment}#{key}", "key": key, "value": value}
            self._keep(repository, name, item)

    def checkpoint(self, repository: str, name: str, key: str) -> Checkpoint | None:
        item = self._table.get(f"A checkpoint of {name}", _pk(repository), f"checkpoint#{name}#{key}")
        return unpack(Checkpoint, item[RECORD]) if item else None

    def keep_checkpoint(self, repository: str, name: str, key: str, checkpoint: Checkpoint) -> None:
        self._keep(repository, name, {"sk": f"checkpoint#{name}#{key}", RECORD: pack(checkpoint)})

    def drop_checkpoints(self, repository: str, name: str, keys: Collection[str]) -> None:
        for key in keys:
            with refusals_of(f"A checkpoint of {name}"):
                item = to_item({"pk": _pk(repository), "sk": f"checkpoint#{name}#{key}"})
                self._client.delete_item(TableName=self._table.name, Key=item)

    def _keep(self, repository: str, name: str, item: Mapping[str, Any]) -> None:
        expires_at = int(self._now()) + KEPT_SECONDS
        self._table.put(f"The workflow of {name}", {"pk": _pk(repository), "expires_at": expires_at, **item})

    def _put(self, record: ClusterRecord, before: int) -> dict[str, Any]:
        key = {"pk": _pk(record.repository), "sk": f"cluster#{record.name}"}
        item = to_item({**key, RECORD: pack(record), "version": record.version})
        return {"TableName": self._table.name, "Item": item, **at_version(before)}

    def _beginning_with(self, repository: str, prefix: str) -> Iterable[dict[str, Any]]:
        return self._table.query(
            f"The clusters of {repository}",
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues=to_item({":pk": _pk(repository), ":prefix": prefix}),
        )


def _pk(repository: str) -> str:
    return f"clusters#{repository}"

"""Pull requests and their speculative plans: the items ``pull#OWNER/REPO#NUMBER`` and ``layer#ID``, each a record."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import RECORD, Table, reasons, refusals_of
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.errors import CloudUnavailable, Conflict, NotFound
from tidegate.rules.timestamp import LONG_AGO, timestamp_from, timestamp_text

#: Partition of open pull requests in the index of open work.
OPEN_PULL_REQUESTS = "pull_request"
#: Partition of merged ones there, while their comments show deployments.
MERGED_PULL_REQUESTS = "merged_pull_request"
#: Closed pull requests and unchanged layers expire with the jobs of their plans.
_KEPT_SECONDS = 90 * 24 * 3600
#: Layers in one transaction: with a workflow's steps one may have 40 KB, and DynamoDB takes 4 MB.
_BATCH = 25
_TRIES = 5
_REFUSED = "ConditionalCheckFailed"
_NEW = "attribute_not_exists(pk)"


class DynamoPullRequests:
    """The port ``PullRequests``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._table = Table(client, table)
        self._now = now

    def get(self, repository: str, number: int) -> PullRequestRecord:
        item = self._table.get(_name(repository, number), _partition(repository, number), RECORD)
        if item is None:
            raise NotFound("pull request", f"{repository}#{number}")
        return unpack(PullRequestRecord, item)

    def save(self, record: PullRequestRecord) -> PullRequestRecord:
        key = record.spec.repository, record.spec.number
        saved = replace(record, version=record.version + 1)
        item = {**pack(saved), "pk": _partition(*key), "sk": RECORD, **self._place(saved)}
        condition = _at_version(record.version) if record.version else {"ConditionExpression": _NEW}
        self._table.put(_name(*key), item, condition)
        return saved

    def opened(self) -> Iterable[tuple[str, int]]:
        return self._listed(OPEN_PULL_REQUESTS)

    def newest(self) -> Sequence[tuple[datetime, str, int]]:
        items = self._table.open(OPEN_PULL_REQUESTS)
        return sorted(((timestamp_from(item["open_since"]), *_named(item)) for item in items), reverse=True)

    def deploying(self) -> Iterable[tuple[str, int]]:
        return self._listed(MERGED_PULL_REQUESTS)

    def _listed(self, place: str) -> Iterable[tuple[str, int]]:
        return (_named(item) for item in self._table.open(place))

    def many(self, pull_requests: Collection[tuple[str, int]]) -> Sequence[PullRequestRecord]:
        keys = [(_partition(*key), RECORD) for key in sorted(set(pull_requests))]
        found = [unpack(PullRequestRecord, item) for item in self._table.get_many("Pull requests", keys)]
        return sorted(found, key=lambda record: (record.spec.repository, record.spec.number))

    def _place(self, record: PullRequestRecord) -> Mapping[str, Any]:
        """Return the attributes that index an open one and expire a closed one."""
        if record.is_open:
            return {"open": OPEN_PULL_REQUESTS, "open_since": timestamp_text(record.opened_at or LONG_AGO)}
        kept = {"expires_at": int(self._now()) + _KEPT_SECONDS}
        if record.is_deploying:
            return {**kept, "open": MERGED_PULL_REQUESTS, "open_since": timestamp_text(record.closed_at or LONG_AGO)}
        return kept


class DynamoSpeculativePlans:
    """The port ``SpeculativePlans``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._table = Table(client, table)
        self._now = now

    def create(self, layers: Sequence[SpeculativePlan]) -> None:
        every = list({layer.id: layer for layer in reversed(layers)}.values())
        for start in range(0, len(every), _BATCH):
            self._create(every[start : start + _BATCH])

    def get(self, layer: str) -> SpeculativePlan:
        item = self._table.get(f"The layer {layer}", _layer(layer), RECORD)
        if item is None:
            raise NotFound("layer", layer)
        return unpack(SpeculativePlan, item)

    def save(self, layer: SpeculativePlan) -> SpeculativePlan:
        saved = replace(layer, version=layer.version + 1)
        self._table.put(f"The layer {layer.id}", self._item(saved), _at_version(layer.version))
        return saved

    def many(self, layers: Collection[str]) -> Sequence[SpeculativePlan]:
        keys = [(_layer(name), RECORD) for name in sorted(set(layers))]
        found = [unpack(SpeculativePlan, item) for item in self._table.get_many("Layers", keys)]
        return sorted(found, key=lambda layer: (layer.stack, layer.root.name, layer.id))

    def remove(self, layers: Collection[str]) -> None:
        deletes = [{"DeleteRequest": {"Key": to_item({"pk": _layer(name), "sk": RECORD})}} for name in set(layers)]
        for start in range(0, len(deletes), _BATCH):
            self._remove(deletes[start : start + _BATCH])

    def _item(self, layer: SpeculativePlan) -> dict[str, Any]:
        expires_at = int(self._now()) + _KEPT_SECONDS
        return {**pack(layer), "pk": _layer(layer.id), "sk": RECORD, "expires_at": expires_at}

    def _create(self, wanted: Sequence[SpeculativePlan]) -> None:
        """Write those that are not stored. A stored one cancels its transaction, which is repeated without it."""
        for _ in range(_TRIES):
            if not wanted:
                return
            try:
                wanted = self._attempt(wanted)
            except Conflict:
                continue
        if wanted:
            raise CloudUnavailable("DynamoDB", f"{len(wanted)} layers were not written")

    def _attempt(self, wanted: Sequence[SpeculativePlan]) -> Sequence[SpeculativePlan]:
        """Return what is still to be written. Raise Conflict if another transaction interfered."""
        try:
            with refusals_of("Layers"):
                self._client.transact_write_items(TransactItems=[{"Put": self._put(layer)} for layer in wanted])
        except Conflict as conflict:
            refused = reasons(conflict.__cause__)
            if _REFUSED not in refused:
                raise
            return [layer for layer, reason in zip(wanted, refused, strict=True) if reason != _REFUSED]
        return ()

    def _put(self, layer: SpeculativePlan) -> dict[str, Any]:
        return {
            "TableName": self._table.name,
            "Item": to_item(self._item(layer)),
            "ConditionExpression": _NEW,
        }

    def _remove(self, deletes: list[dict[str, Any]]) -> None:
        for _ in range(_TRIES):
            with refusals_of("Layers"):
                answer = self._client.batch_write_item(RequestItems={self._table.name: deletes})
            deletes = answer.get("UnprocessedItems", {}).get(self._table.name, [])
            if not deletes:
                return
        raise CloudUnavailable("DynamoDB", f"{len(deletes)} layers were not removed")


def _at_version(version: int) -> dict[str, Any]:
    return {
        "ConditionExpression": "#version = :before",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": to_item({":before": version}),
    }


def _partition(repository: str, number: int) -> str:
    return f"pull#{repository}#{number}"


def _named(item: Mapping[str, Any]) -> tuple[str, int]:
    repository, _, number = item["pk"].removeprefix("pull#").rpartition("#")
    return repository, int(number)


def _layer(layer: str) -> str:
    return f"layer#{layer}"


def _name(repository: str, number: int) -> str:
    return f"The pull request {repository}#{number}"

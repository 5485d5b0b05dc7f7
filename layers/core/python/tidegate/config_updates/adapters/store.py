"""The records of config repositories: items of the partition ``updates#OWNER/NAME``.

``#head`` is the queue's head, ``entry#ID`` an entry, ``ended#TIME#ID`` the same once it has ended, for the history.
``environment#SET/NAME``, ``promotion#ENTRY/ATTEMPT`` and ``token#SET/TARGET`` are what their names say. ``promoted#…``
is a promotion that has ended: reading the open ones costs the same after years. ``#file`` is the configuration of one
commit.

Each record is one attribute: fields such as ``requested_at`` at the top of an item would put it into the indexes of
deployments. The head is in the index of open work, by its repository.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import OPEN_UPDATES, Table, at_version, refusals_of
from tidegate.config_updates.rules.entry import UpdateEntry
from tidegate.config_updates.rules.environment import EnvironmentState
from tidegate.config_updates.rules.promotion import Promotion, Stage
from tidegate.config_updates.rules.queue import UpdateHead
from tidegate.rules.errors import NotFound
from tidegate.rules.timestamp import timestamp_text

_HEAD, _FILE, _RECORD = "#head", "#file", "record"
_OPEN_PROMOTION, _ENDED_PROMOTION = "promotion#", "promoted#"
#: Ended entries are kept for a year: an announcement that comes again until then is a repetition.
KEPT_SECONDS = 365 * 24 * 3600
#: DynamoDB's limit of actions in one transaction is 100, and one of them is the head's.
_MOST_SAVED = 99
_LARGEST_FILE = 256 * 1024
_Versioned = TypeVar("_Versioned", UpdateHead, EnvironmentState, Promotion)


class DynamoConfigUpdates:
    """The port ``ConfigUpdateStore``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._table = Table(client, table)
        self._now = now

    def head(self, repository: str) -> UpdateHead:
        item = self._table.get(_name(repository), _pk(repository), _HEAD)
        return UpdateHead(repository) if item is None else unpack(UpdateHead, item[_RECORD])

    def commit(
        self,
        before: UpdateHead,
        after: UpdateHead,
        entries: Sequence[UpdateEntry] = (),
        environments: Sequence[EnvironmentState] = (),
    ) -> UpdateHead:
        saved = replace(after, version=before.version + 1)
        head = {
            "Put": self._put_versioned(saved, _HEAD, before.version, open=OPEN_UPDATES, open_since=before.repository)
        }
        puts = [action for entry in entries for action in self._puts(entry)]
        puts += [
            {"Put": self._put_versioned(replace(each, version=each.version + 1), _environment(each), each.version)}
            for each in environments
        ]
        while len(puts) > _MOST_SAVED:
            self._write(before.repository, [*puts[:_MOST_SAVED], self._unchanged(before)])
            del puts[:_MOST_SAVED]
        self._write(before.repository, [*puts, head])
        return saved

    def repositories(self) -> Iterable[str]:
        return (item["open_since"] for item in self._table.open(OPEN_UPDATES))

    def entry(self, repository: str, entry: str) -> UpdateEntry:
        item = self._table.get(f"The entry {entry}", _pk(repository), f"entry#{entry}")
        if item is None:
            raise NotFound("entry", entry)
        return unpack(UpdateEntry, item[_RECORD])

    def entries(self, repository: str, entries: Collection[str]) -> Mapping[str, UpdateEntry]:
        keys = [(_pk(repository), f"entry#{each}") for each in dict.fromkeys(entries)]
        found = (unpack(UpdateEntry, item[_RECORD]) for item in self._table.get_many(_name(repository), keys))
        return {each.id: each for each in found}

    def history(self, repository: str, limit: int, before: datetime | None = None) -> Sequence[UpdateEntry]:
        last = f"ended#{timestamp_text(before)}" if before else "ended$"
        items = self._table.query(
            _name(repository),
            limit=limit,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=to_item({":pk": _pk(repository), ":first": "ended#", ":last": last}),
            ScanIndexForward=False,
        )
        return [unpack(UpdateEntry, item[_RECORD]) for item in items]

    def environment(self, repository: str, image_set: str, name: str) -> EnvironmentState:
        state = EnvironmentState(repository, image_set, name)
        item = self._table.get(_name(repository), _pk(repository), _environment(state))
        return state if item is None else unpack(EnvironmentState, item[_RECORD])

    def environments(self, repository: str) -> Sequence[EnvironmentState]:
        return [unpack(EnvironmentState, item[_RECORD]) for item in self._beginning_with(repository, "environment#")]

    def save_environment(self, state: EnvironmentState) -> EnvironmentState:
        saved = replace(state, version=state.version + 1)
        self._write(state.repository, [{"Put": self._put_versioned(saved, _environment(state), state.version)}])
        return saved

    def promotion(self, repository: str, entry: str, attempt: int) -> Promotion | None:
        for prefix in (_OPEN_PROMOTION, _ENDED_PROMOTION):
            item = self._table.get(f"The promotion {entry}", _pk(repository), f"{prefix}{entry}/{attempt}")
            if item is not None:
                return unpack(Promotion, item[_RECORD])
        return None

    def save_promotion(self, promotion: Promotion) -> Promotion:
        saved = replace(promotion, version=promotion.version + 1)
        key = f"{promotion.entry}/{promotion.attempt}"
        open_ = f"{_OPEN_PROMOTION}{key}"
        if promotion.stage is not Stage.ENDED:
            actions = [{"Put": self._put_versioned(saved, open_, promotion.version)}]
        else:
            key_of_open = to_item({"pk": _pk(promotion.repository), "sk": open_})
            gone = {"Key": key_of_open, **at_version(promotion.version)}
            put = self._put_versioned(saved, f"{_ENDED_PROMOTION}{key}", 0, expires_at=self._expiry())
            actions = [{"Delete": gone}, {"Put": put}]
        self._write(promotion.repository, actions)
        return saved

    def open_promotions(self, repository: str) -> Sequence[Promotion]:
        return [unpack(Promotion, item[_RECORD]) for item in self._beginning_with(repository, _OPEN_PROMOTION)]

    def keep_target_token(self, repository: str, image_set: str, target: str, digest: str, by: str) -> None:
        item = {"pk": _pk(repository), "sk": f"token#{image_set}/{target}", "digest": digest, "by": by}
        self._table.put(_name(repository), item)

    def target_token(self, repository: str, image_set: str, target: str) -> str:
        item = self._table.get(_name(repository), _pk(repository), f"token#{image_set}/{target}")
        return str(item["digest"]) if item else ""

    def keep_configuration(self, repository: str, commit: str, content: bytes) -> None:
        text = content.decode("utf-8", "surrogateescape")
        with suppress(UnicodeEncodeError):
            if len(text.encode()) <= _LARGEST_FILE:
                item = {"pk": _pk(repository), "sk": _FILE, "commit": commit, "content": text}
                self._table.put(_name(repository), item)

    def configuration(self, repository: str, commit: str) -> bytes | None:
        item = self._table.get(_name(repository), _pk(repository), _FILE)
        return str(item["content"]).encode() if item and item["commit"] == commit else None

    def _beginning_with(self, repository: str, prefix: str) -> Iterable[dict[str, Any]]:
        return self._table.query(
            _name(repository),
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues=to_item({":pk": _pk(repository), ":prefix": prefix}),
        )

    def _puts(self, entry: UpdateEntry) -> Iterable[dict[str, Any]]:
        expires = {"expires_at": self._expiry()} if entry.ended_at else {}
        item = {_RECORD: pack(entry), "pk": _pk(entry.repository), **expires}
        yield {"Put": {"Item": to_item({**item, "sk": f"entry#{entry.id}"})}}
        if entry.ended_at:
            yield {"Put": {"Item": to_item({**item, "sk": f"ended#{timestamp_text(entry.ended_at)}#{entry.id}"})}}

    def _put_versioned(self, record: _Versioned, sk: str, before: int, **more: Any) -> dict[str, Any]:
        item = {_RECORD: pack(record), "version": record.version, "pk": _pk(record.repository), "sk": sk, **more}
        return {"Item": to_item(item), **at_version(before)}

    def _unchanged(self, head: UpdateHead) -> dict[str, Any]:
        key = to_item({"pk": _pk(head.repository), "sk": _HEAD})
        return {"ConditionCheck": {"Key": key, **at_version(head.version)}}

    def _write(self, repository: str, actions: Sequence[Mapping[str, Any]]) -> None:
        named = [{kind: {"TableName": self._table.name, **body} for kind, body in each.items()} for each in actions]
        with refusals_of(_name(repository)):
            self._client.transact_write_items(TransactItems=named)

    def _expiry(self) -> int:
        return int(self._now()) + KEPT_SECONDS


def _pk(repository: str) -> str:
    return f"updates#{repository}"


def _environment(state: EnvironmentState) -> str:
    return f"environment#{state.image_set}/{state.name}"


def _name(repository: str) -> str:
    return f"The config updates of {repository}"

"""The concurrency slots for speculative plans: one item for each repository, ``places#OWNER/REPO`` / ``#head``.

It holds only ids: ``held``, the set of slot holders, and ``line``, the list of those that wait. A waiting id has its
precedence in front (``0|ID``) unless it is a plan's. Each change is one update whose condition is the rule, so
concurrent takes and releases need no retry; only handing over a slot is retried after concurrent changes. A waiting
layer's task token is in its own item, ``token#LAYER``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from tidegate.aws.records import from_item, to_attribute, to_item
from tidegate.aws.table import Table, refusals_of
from tidegate.deploys.rules.plan_slots import Precedence, SlotUsage, left, next_pass
from tidegate.rules.errors import Conflict, NotFound

#: Partition of busy repositories in the index of open work.
OPEN_PLAN_SLOTS = "places"
_HEAD = "#head"
#: Longer than any token waits.
_KEPT_SECONDS = 7 * 24 * 3600
_ATTRIBUTES = ("open", "held", "line", "version", "turns")
#: Separator of precedence and id; no id contains it.
_MARK = "|"
_NOBODY_WAITS = "(attribute_not_exists(#line) OR size(#line) = :none)"
_HAS_ROOM = "(attribute_not_exists(#held) OR size(#held) < :limit)"
#: Adds the item to the index; if it is there already, this costs nothing.
_OPENS = "#open = :open, open_since = :repository"


class DynamoPlanSlots:
    """The port ``PlanSlots``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._table = Table(client, table)
        self._now = now

    def read(self, repository: str) -> SlotUsage:
        return _places(repository, self._table.get(_name(repository), _partition(repository), _HEAD))

    def take(self, repository: str, layer: str, limit: int) -> SlotUsage:
        values = {":layers": {layer}, ":layer": layer, ":limit": limit, ":none": 0, ":one": 1, **_open(repository)}
        condition = f"contains(#held, :layer) OR ({_HAS_ROOM} AND {_NOBODY_WAITS})"
        return self._update(repository, f"ADD #held :layers, #version :one SET {_OPENS}", condition, values)[0]

    def join(self, repository: str, layer: str, precedence: Precedence = Precedence.PLAN) -> SlotUsage:
        change = f"SET #line = list_append(if_not_exists(#line, :nobody), :layers), {_OPENS} ADD #version :one"
        values = {":layers": [_entry(layer, precedence)], ":layer": layer, ":nobody": [], ":one": 1}
        values |= {**_open(repository), **{f":as_{each}": _entry(layer, each) for each in Precedence}}
        waits_not = [f"NOT contains(#line, :as_{each})" for each in Precedence]
        condition = " AND ".join([*waits_not, "NOT contains(#held, :layer)"])
        return self._update(repository, change, condition, values)[0]

    def hand_over(self, repository: str, layer: str, limit: int) -> bool:
        seen = self.read(repository)
        if next_pass(seen, limit).layer != layer:
            return False
        values = {":layers": {layer}, ":seen": seen.version, ":limit": limit, ":one": 1}
        change = f"ADD #held :layers, #version :one, #turns :one REMOVE #line[{seen.line.index(layer)}]"
        return self._update(repository, change, f"#version = :seen AND {_HAS_ROOM}", values)[1]

    def leave(self, repository: str, layers: Collection[str]) -> SlotUsage:
        values: dict[str, Any] = {":layers": set(layers)}
        before, _ = self._update(repository, "DELETE #held :layers", "attribute_exists(pk)", values)
        after = left(before, layers)
        if after.line == before.line:
            return after
        values = {":line": _line(after), ":after": after.version, ":before": before.version}
        change = "SET #line = :line, #version = :after"
        places, is_done = self._update(repository, change, "#version = :before", values)
        if not is_done:
            raise Conflict(_name(repository))
        return places

    def free(self, seen: SlotUsage, layer: str) -> SlotUsage:
        values: dict[str, Any] = {":layers": {layer}, ":line": _line(left(seen, [layer])), ":one": 1}
        change = "DELETE #held :layers SET #line = :line ADD #version :one"
        places, is_done = self._update(seen.repository, change, "#version = :seen", {**values, ":seen": seen.version})
        if not is_done:
            raise Conflict(_name(seen.repository))
        return places

    def keep_token(self, repository: str, layer: str, token: str, attempt: str = "") -> bool:
        key = {"pk": _partition(repository), "sk": _token(layer)}
        item = {**key, "token": token, "attempt": attempt, "expires_at": int(self._now()) + _KEPT_SECONDS}
        not_later = {
            "ConditionExpression": "attribute_not_exists(attempt) OR attempt <= :attempt",
            "ExpressionAttributeValues": to_item({":attempt": attempt}),
        }
        try:
            self._table.put(_name(repository), item, not_later)
        except Conflict:
            return False
        return True

    def token(self, repository: str, layer: str) -> str:
        item = self._table.get(_name(repository), _partition(repository), _token(layer))
        if item is None:
            raise NotFound("token of a place for", layer)
        return str(item["token"])

    def busy(self) -> Iterable[str]:
        return (item["pk"].removeprefix(_partition("")) for item in self._table.open(OPEN_PLAN_SLOTS))

    def rest(self, repository: str) -> None:
        is_quiet = f"attribute_not_exists(#held) AND {_NOBODY_WAITS}"
        self._update(repository, "REMOVE #open, open_since", is_quiet, {":none": 0})

    def _update(
        self, repository: str, change: str, condition: str, values: Mapping[str, Any]
    ) -> tuple[SlotUsage, bool]:
        """Return the slots after an update, and whether its condition was true; if not, the slots are unchanged."""
        with refusals_of(_name(repository)):
            try:
                answer = self._client.update_item(
                    TableName=self._table.name,
                    Key=to_item({"pk": _partition(repository), "sk": _HEAD}),
                    UpdateExpression=change,
                    ConditionExpression=condition,
                    ExpressionAttributeNames={f"#{n}": n for n in _ATTRIBUTES if f"#{n}" in change + condition},
                    ExpressionAttributeValues={name: _attribute(value) for name, value in values.items()},
                    ReturnValues="ALL_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
            except self._client.exceptions.ConditionalCheckFailedException as error:
                return _places(repository, from_item(error.response.get("Item", {}))), False
        return _places(repository, from_item(answer["Attributes"])), True


def _open(repository: str) -> dict[str, Any]:
    return {":open": OPEN_PLAN_SLOTS, ":repository": repository}


def _attribute(value: Any) -> dict[str, Any]:
    """Return DynamoDB's form of a value, including Python sets of strings."""
    return {"SS": sorted(value)} if isinstance(value, set) else to_attribute(value)


def _places(repository: str, item: Mapping[str, Any] | None) -> SlotUsage:
    known = item or {}
    line = [_waiter(each) for each in known.get("line", ())]
    return SlotUsage(
        repository,
        held=tuple(sorted(known.get("held", ()))),
        line=tuple(layer for layer, _ in line),
        version=int(known.get("version", 0)),
        ranks={layer: rank for layer, rank in line if rank is not Precedence.PLAN},
        turns=int(known.get("turns", 0)),
    )


def _line(places: SlotUsage) -> list[str]:
    return [_entry(each, places.rank(each)) for each in places.line]


def _entry(layer: str, rank: Precedence) -> str:
    """Return the entry of a waiting id. A plan has its id alone, as in older versions."""
    return layer if rank is Precedence.PLAN else f"{rank:d}{_MARK}{layer}"


def _waiter(entry: str) -> tuple[str, Precedence]:
    rank, mark, layer = entry.partition(_MARK)
    return (layer, Precedence(int(rank))) if mark else (entry, Precedence.PLAN)


def _partition(repository: str) -> str:
    return f"places#{repository}"


def _token(layer: str) -> str:
    return f"token#{layer}"


def _name(repository: str) -> str:
    return f"The plan concurrency slots of {repository}"

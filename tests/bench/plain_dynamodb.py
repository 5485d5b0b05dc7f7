"""DynamoDB in plain dicts: what tens of thousands of items can be read from in no time.

It keeps no conditions, as nobody else writes. What it does keep is what reads cost: pages of 1 MB, limits, and the
attributes that an index has. It counts calls. An item is as large as its JSON, which is somewhat more than at AWS.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from tidegate_cdk.indexes import INDEXES

_PAGE = 1_000_000
_PARTS = re.compile(r"\b(SET|REMOVE|ADD)\b")
_ABSENT_ONLY = re.compile(r"if_not_exists\(([^,]+), *([^)]+)\)")
_COMPARED = re.compile(r"(begins_with)\((\S+), (\S+)\)|(\S+) (BETWEEN|=|>=|>|<) (\S+)(?: AND (:\S+))?")
Item = dict[str, Any]


class PlainDynamo:
    """A client of one table. ``calls`` are the names of its calls.

    ``reads`` are those that read, each with its index (empty for the table) and the partitions that it names.
    """

    class exceptions:  # noqa: N801  # As boto3 names it.
        TransactionCanceledException = ClientError

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls
        self.reads: set[tuple[str, str, tuple[str, ...]]] = set()
        #: By index (empty for the table) and the value of its first key: the items.
        self._by: dict[tuple[str, str], dict[tuple[str, str], Item]] = defaultdict(dict)
        self._items: dict[tuple[str, str], Item] = {}
        self._sizes: dict[tuple[str, str], int] = {}

    def put_item(self, Item: Item, **_: Any) -> Item:
        self._store(Item)
        return {}

    def delete_item(self, Key: Item, **_: Any) -> Item:
        self._forget(_key(Key))
        return {}

    def update_item(self, Key: Item, UpdateExpression: str, **how: Any) -> Item:
        before = self._items.get(_key(Key), {})
        names, values = how.get("ExpressionAttributeNames", {}), how.get("ExpressionAttributeValues", {})
        item = {**Key, **before}
        _, *parts = _PARTS.split(UpdateExpression)
        for kind, text in zip(parts[::2], parts[1::2], strict=True):
            for action in re.split(r",(?![^(]*\))", text):
                _change(item, kind, action.strip(), names, values)
        self._store(item)
        return {"Attributes": before}

    def transact_write_items(self, TransactItems: list[Item]) -> Item:
        does: Mapping[str, Callable[..., Item]] = {
            "Put": self.put_item,
            "Update": self.update_item,
            "Delete": self.delete_item,
        }
        for action in TransactItems:
            for kind, body in action.items():
                if kind in does:
                    does[kind](**body)
        return {}

    def batch_write_item(self, RequestItems: Item) -> Item:
        for each in (each for requests in RequestItems.values() for each in requests):
            self._store(each["PutRequest"]["Item"]) if "PutRequest" in each else self._forget(
                _key(each["DeleteRequest"]["Key"])
            )
        return {}

    def get_item(self, Key: Item, **_: Any) -> Item:
        self._read("GetItem", "", [Key])
        found = self._items.get(_key(Key))
        return {} if found is None else {"Item": found}

    def batch_get_item(self, RequestItems: Item) -> Item:
        [(table, asked)] = RequestItems.items()
        self._read("BatchGetItem", "", asked["Keys"])
        found = [self._items[key] for key in map(_key, asked["Keys"]) if key in self._items]
        return {"Responses": {table: found}}

    def transact_get_items(self, TransactItems: list[Item]) -> Item:
        self._read("TransactGetItems", "", [each["Get"]["Key"] for each in TransactItems])
        found = (self._items.get(_key(each["Get"]["Key"])) for each in TransactItems)
        return {"Responses": [{"Item": each} if each else {} for each in found]}

    def _read(self, call: str, index: str, keys: Sequence[Item]) -> None:
        self._calls.append(call)
        self.reads.add((call, index, tuple(sorted({_text(key["pk"]) for key in keys}))))

    def query(self, KeyConditionExpression: str, IndexName: str = "", **how: Any) -> Item:
        names, values = how.get("ExpressionAttributeNames", {}), how["ExpressionAttributeValues"]
        (_, _, wanted), *others = _conditions(KeyConditionExpression, names, values)
        keys, shown = INDEXES.get(IndexName, (("pk", "sk"), ()))
        self._read("Query", IndexName, [{"pk": {"S": wanted[0]}}])
        held = self._by[IndexName, wanted[0]]

        def place(key: tuple[str, str]) -> tuple[str, tuple[str, str]]:
            return _text(held[key].get(keys[1])), key

        order = sorted(held, key=place, reverse=not how.get("ScanIndexForward", True))
        if start := how.get("ExclusiveStartKey"):
            after = _text(start[keys[1]]), _key(start)
            forward = how.get("ScanIndexForward", True)
            order = [key for key in order if (place(key) > after) == forward and place(key) != after]
        order = [key for key in order if all(_holds(held[key], *each) for each in others)]
        page, size = [], 0
        for key in order[: how.get("Limit", len(order))]:
            item = held[key] if not IndexName else self._projected(held[key], keys, shown)
            size += self._sizes[key] if not IndexName else len(json.dumps(item))
            if size > _PAGE and page:
                break
            page.append((key, item))
        answer: Item = {"Items": [item for _, item in page]}
        if page and len(page) < len(order):
            last = held[page[-1][0]]
            answer["LastEvaluatedKey"] = {name: last[name] for name in {"pk", "sk", *keys}}
        return answer

    def _make_api_call(self, operation: str, payload: Item) -> Item:
        """Answer as boto3 does under its methods, for the client without boto3."""
        answer: Item = getattr(self, re.sub(r"(?<!^)([A-Z])", r"_\1", operation).lower())(**payload)
        return answer

    def _projected(self, item: Item, keys: tuple[str, ...], shown: tuple[str, ...]) -> Item:
        return {name: item[name] for name in ("pk", "sk", *keys, *shown) if name in item}

    def _store(self, item: Item) -> None:
        key = _key(item)
        self._forget(key)
        self._items[key], self._sizes[key] = item, len(json.dumps(item))
        for index, value in _indexed(item):
            self._by[index, value][key] = item

    def _forget(self, key: tuple[str, str]) -> None:
        before = self._items.pop(key, None)
        for index, value in _indexed(before) if before else ():
            self._by[index, value].pop(key, None)


def _key(item: Item) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]


def _text(value: Any) -> str:
    return str(value["S"]) if value else ""


def _indexed(item: Item) -> Iterator[tuple[str, str]]:
    """Yield the indexes that an item is in, the table itself first, and the value of their first key."""
    yield "", item["pk"]["S"]
    yield from ((name, item[keys[0]]["S"]) for name, (keys, _) in INDEXES.items() if {*keys} <= item.keys())


def _change(item: Item, kind: str, action: str, names: Mapping[str, str], values: Mapping[str, Any]) -> None:
    if kind == "REMOVE":
        item.pop(names.get(action, action), None)
        return
    left, _, right = action.partition(" = " if kind == "SET" else " ")
    name = names.get(left, left)
    if kind == "ADD":
        item[name] = {"N": str(int(item.get(name, {"N": "0"})["N"]) + int(values[right.strip()]["N"]))}
    elif first := _ABSENT_ONLY.fullmatch(right):
        item[name] = item.get(names.get(first[1], first[1]), values[first[2]])
    else:
        item[name] = values[right]


def _conditions(
    text: str, names: Mapping[str, str], values: Mapping[str, Any]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield what a query asks for: an attribute, how it is compared, and with what."""
    for begins, attribute, prefix, name, how, first, last in _COMPARED.findall(text):
        asked = [values[each]["S"] for each in (prefix, first, last) if each]
        yield names.get(attribute or name, attribute or name), begins or how, tuple(asked)


def _holds(item: Item, attribute: str, how: str, wanted: tuple[str, ...]) -> bool:
    value = _text(item.get(attribute))
    return {
        "begins_with": value.startswith(wanted[0]),
        "BETWEEN": wanted[0] <= value <= wanted[-1],
        "=": value == wanted[0],
        ">": value > wanted[0],
        ">=": value >= wanted[0],
        "<": value < wanted[0],
    }[how]

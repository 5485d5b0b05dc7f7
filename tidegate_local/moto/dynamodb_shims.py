"""What moto's DynamoDB takes needlessly long for, put right where people would feel it."""

# mypy: disable-error-code="method-assign,assignment,attr-defined,arg-type"
from __future__ import annotations

import copy
import functools
import inspect
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import Table

_RUNNING = threading.local()
_BINARY = frozenset({"B", "BS"})


@functools.cache
def install() -> None:
    """Put everything in place, once in a process."""
    for shim in (_transactions, _answers, _queries):
        shim()


def _transactions() -> None:
    """A transaction copies only the items that it names, and puts them back when it fails.

    moto copies the whole table, once for each of the transaction's items: each deployment made the next one slower,
    and a cloud of 200 deployments took 7 GB.
    """
    original = DynamoDBBackend.transact_write_items

    def transact(self: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
        kept = [_kept(self, operation) for item in transact_items for operation in item.values()]
        _RUNNING.transaction = True
        try:
            original(self, transact_items)
        except Exception:
            for table, hash_key, range_key, before in kept:
                _put_back(table, hash_key, range_key, before)
            raise
        finally:
            _RUNNING.transaction = False

    DynamoDBBackend.transact_write_items = transact
    Table.__deepcopy__ = _itself_in_a_transaction


def _answers() -> None:
    """An attribute's value is written by the one key that it has.

    moto looks for each of the ten kinds of values, under all names that it might have in other services: more than
    half of the time of a read.
    """
    original = BaseJSONSerializer._serialize_type_structure  # noqa: SLF001 - there is no other way in.

    def structure(self: BaseJSONSerializer, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name != "AttributeValue" or type(value) is not dict or not key:
            original(self, serialized, value, shape, key)
            return
        self._default_serialize(serialized, written(self, value, shape), shape, key)

    def written(self: BaseJSONSerializer, value: dict[str, Any], shape: Any) -> dict[str, Any]:
        ((kind, content),) = value.items()
        if kind == "M":
            return {kind: {name: written(self, item, shape) for name, item in content.items()}}
        if kind == "L":
            return {kind: [written(self, item, shape) for item in content]}
        if kind not in _BINARY:
            return value
        encoded: dict[str, Any] = self.MAP_TYPE()
        self._serialize(encoded, content, shape.members[kind], kind)
        return encoded

    BaseJSONSerializer._serialize_type_structure = structure  # noqa: SLF001  # There is no other way in.


def _queries() -> None:
    """A query looks at the items that its keys name; moto sorts the whole table for each."""
    original = Table.query

    parameters = inspect.signature(original)

    def query(self: Table, *arguments: Any, **more: Any) -> Any:
        asked = parameters.bind(self, *arguments, **more).arguments
        candidates = list(_candidates(self, asked))
        view: Any = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        view.all_items = lambda: candidates
        return original(view, *arguments, **more)

    Table.query = query


def _candidates(table: Table, asked: Mapping[str, Any]) -> Iterator[Item]:
    if not asked.get("index_name") and table.range_key_attr:
        yield from table.items.get(asked["hash_key"], {}).values()
        return
    conditions = asked.get("hash_key_conditions") or ()
    for item in _items(table):
        if all(name in item.attrs and item.attrs[name].value == wanted.value for name, wanted in conditions):
            yield item


def _items(table: Any) -> Iterator[Item]:
    for held in table.items.values():
        if table.range_key_attr:
            yield from held.values()
        else:
            yield held


def _kept(backend: DynamoDBBackend, operation: dict[str, Any]) -> tuple[Table, Any, Any, Any]:
    """Return an item's table, its keys, and a copy of it as it is now, None where there is none."""
    table = backend.get_table(operation["TableName"])
    hash_key, range_key = backend.get_keys_value(table, operation.get("Key") or operation["Item"])
    return table, hash_key, range_key, copy.deepcopy(table.get_item(hash_key, range_key))


def _put_back(table: Table, hash_key: Any, range_key: Any, before: Any) -> None:
    table.delete_item(hash_key, range_key)
    if before is None:
        return
    if table.has_range_key:
        table.items[hash_key][range_key] = before
    else:
        table.items[hash_key] = before


def _itself_in_a_transaction(table: Any, memo: dict[int, Any]) -> Any:
    if getattr(_RUNNING, "transaction", False):
        return table
    copied = table.__class__.__new__(table.__class__)
    memo[id(table)] = copied
    copied.__dict__.update(copy.deepcopy(table.__dict__, memo))
    return copied

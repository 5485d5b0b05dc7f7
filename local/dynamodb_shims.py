"""What moto's DynamoDB takes needlessly long for, put right."""

# mypy: disable-error-code="method-assign,assignment,attr-defined,arg-type"
from __future__ import annotations

import copy
import functools
import threading
from typing import Any

from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.table import Table

_RUNNING = threading.local()


@functools.cache
def install() -> None:
    """Put everything in place, once in a process."""
    _transactions()
    _answers()


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
        written: dict[str, Any] = self.MAP_TYPE()
        for kind, content in value.items():
            if kind in shape.members and content is not None:
                self._serialize(written, content, shape.members[kind], kind)
        self._default_serialize(serialized, written, shape, key)

    BaseJSONSerializer._serialize_type_structure = structure  # noqa: SLF001


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

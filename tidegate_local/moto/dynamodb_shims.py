"""What moto's DynamoDB takes needlessly long for, put right."""

# mypy: disable-error-code="method-assign,assignment,attr-defined,arg-type"
from __future__ import annotations

import base64
import copy
import functools
import inspect
import threading
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from moto.core.serialize import BaseJSONSerializer
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.models.utilities import bytesize
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Expression, Node, UpdateExpressionFunction
from moto.dynamodb.parsing.expressions import UpdateExpressionParser
from moto.dynamodb.parsing.validators import ActionCountValidator, OverlappingPathsValidator

_RUNNING = threading.local()
_SETS = frozenset({"SS", "NS", "BS"})
_BINARY = frozenset({"B", "BS"})
_ITEM_LIMIT = 405_000
"""moto's limit of an item in bytes: AWS's own is a little above what it documents."""


@functools.cache
def install() -> None:
    """Put everything in place, once in a process."""
    for shim in (_transactions, _answers, _values, _regular_values, _item_sizes, _queries, _orders, _expressions):
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


def _values() -> None:
    """A value is copied and measured by one pass over what it holds.

    moto copies all that a value holds again and again to measure it, and asks for each copy whether it has met the
    value before.
    """

    def copied(self: DynamoType, _memo: Any = None) -> DynamoType:
        made = DynamoType.__new__(DynamoType)
        made.type, held = self.type, self.value
        if made.type == "M":
            made.value = {key: _copy_of(item) for key, item in held.items()}
        elif made.type == "L":
            made.value = [_copy_of(item) for item in held]
        else:
            made.value = list(held) if made.type in _SETS else held
        return made

    def size(self: DynamoType) -> int:
        kind, held = self.type, self.value
        if kind == "M":
            return sum(bytesize(key) + _size_of(item) for key, item in held.items())
        if kind == "L":
            return sum(map(_size_of, held))
        if kind in _SETS:
            return sum(bytesize(str(item)) for item in held)
        return 1 if isinstance(held, bool) else bytesize(str(held) if kind == "N" else held)

    def copied_item(self: Item, _memo: Any = None) -> Item:
        made: Item = object.__new__(Item)
        made.hash_key, made.range_key = self.hash_key, self.range_key
        made.attrs = LimitedSizeDict()
        dict.update(made.attrs, {key: _copy_of(value) for key, value in self.attrs.items()})
        return made

    DynamoType.__deepcopy__ = copied
    DynamoType.size = size
    Item.__deepcopy__ = copied_item


def _copy_of(value: Any) -> Any:
    return value.__deepcopy__({}) if type(value) is DynamoType else copy.deepcopy(value)


def _regular_values() -> None:
    """What a value holds is written by one pass; moto copies all of it at each level."""

    def regular(self: DynamoType) -> dict[str, Any]:
        kind, held = self.type, self.value
        if kind == "M":
            return {kind: {key: _regular(item) for key, item in held.items()}}
        if kind == "L":
            return {kind: [_regular(item) for item in held]}
        if kind == "B" and isinstance(held, str):
            return {kind: base64.b64decode(held)}
        return {kind: list(held) if kind in _SETS else held}

    DynamoType.to_regular_json = regular


def _regular(value: Any) -> Any:
    return value.to_regular_json() if isinstance(value, DynamoType) else value


def _size_of(value: Any) -> int:
    return int(value.size() if type(value) is DynamoType else DynamoType(value).size())


def _item_sizes() -> None:
    """A new item is measured once; moto measures all that it has so far for each attribute more."""

    def begin(self: Item, hash_key: DynamoType, range_key: DynamoType | None, attrs: dict[str, Any]) -> None:
        self.hash_key, self.range_key = hash_key, range_key
        self.attrs = LimitedSizeDict()
        for key, value in attrs.items():
            dict.__setitem__(self.attrs, key, DynamoType(value))
        if self.size() > _ITEM_LIMIT:
            raise ItemSizeTooLarge

    Item.__init__ = begin


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


def _orders() -> None:
    """A scan orders items by what their keys hold; moto makes comparable values of both keys for each comparison."""

    def all_items(self: Table) -> list[Item]:
        return sorted(_items(self), key=_order)

    Table.all_items = all_items


def _order(item: Item) -> tuple[Any, ...]:
    return (item.hash_key.cast_value, item.range_key.cast_value) if item.range_key else (item.hash_key.cast_value,)


def _expressions() -> None:
    """An update's expression is parsed once for all updates that use it, and copied and walked without detours."""
    parse = functools.lru_cache(1024)(UpdateExpressionParser.make.__func__)

    def copied(self: Node, _memo: Any = None) -> Node:
        made: Node = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.parent = None
        if self.children is not None:
            made.children = [_copy_of_node(child, made) for child in self.children]
        return made

    def clauses(self: Node, clause_types: Collection[type]) -> list[Node]:
        return list(_clauses(self, frozenset(clause_types)))

    def traverse(self: DepthFirstTraverser, node: Node) -> Node:
        processed = tuple(self.nodes_to_be_processed())
        self.nodes_to_be_processed = lambda: processed
        return self.traverse_node_recursively(node)

    def whole(self: ActionCountValidator | OverlappingPathsValidator, node: Node) -> Node:
        # What holds for all clauses holds for those inside of one; moto looks again at each level.
        ((_, check),) = self._processing_map().items()
        return check(node)

    ActionCountValidator.traverse = OverlappingPathsValidator.traverse = whole
    UpdateExpressionParser.make = classmethod(parse)
    Node.__deepcopy__ = copied
    Node.find_clauses = clauses
    DepthFirstTraverser.traverse = traverse


def _copy_of_node(child: Any, parent: Node) -> Any:
    if type(child) is str:
        return child
    made = copy.deepcopy(child)
    if isinstance(made, Node):
        made.parent = parent
    return made


def _clauses(node: Node, kinds: frozenset[type]) -> Iterator[Node]:
    for child in node.children or ():
        if type(child) in kinds:
            yield child
        elif _may_hold_clauses(type(child)):
            yield from _clauses(child, kinds)


@functools.cache
def _may_hold_clauses(kind: type) -> bool:
    return issubclass(kind, Expression | UpdateExpressionFunction)


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

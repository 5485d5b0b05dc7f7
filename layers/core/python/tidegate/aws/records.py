"""Frozen dataclasses of the domain as plain data, and plain data as DynamoDB's typed values.

Standard library only, so that every program can read the same records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

Record = TypeVar("Record")


def pack(value: Any) -> Any:
    """Return a dataclass as a dict, a tuple as a list, an enumeration as its value. None is left out of dicts."""
    if is_dataclass(value):
        packed = {field.name: pack(getattr(value, field.name)) for field in fields(value)}
        return {name: item for name, item in packed.items() if item is not None}
    if isinstance(value, tuple):
        return [pack(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def unpack(kind: type[Record], data: Mapping[str, Any]) -> Record:
    """Return the dataclass ``kind`` that was packed. Unknown names are ignored, missing ones get their default.

    So a record that an older or newer version wrote can be read.
    """
    values = {
        name: _unpacked(hint, data[name]) if name in data else None
        for name, (hint, has_default) in _shape(kind).items()  # type: ignore[arg-type]  # A class can be hashed.
        if name in data or not has_default
    }
    return kind(**values)


@cache
def _shape(kind: type[Any]) -> dict[str, tuple[Any, bool]]:
    """Return each field's type, without its None, and whether it has a default."""
    hints = get_type_hints(kind)
    return {field.name: (_without_none(hints[field.name]), _has_default(field)) for field in fields(kind)}


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _without_none(hint: Any) -> Any:
    choices = get_args(hint)
    return next(choice for choice in choices if choice is not NoneType) if NoneType in choices else hint


def _unpacked(hint: Any, value: Any) -> Any:
    if is_dataclass(hint):
        return unpack(hint, value)  # type: ignore[arg-type]  # A dataclass as found in a hint is a type.
    if isinstance(value, list):
        return tuple(_unpacked(get_args(hint)[0], item) for item in value)
    return hint(value) if isinstance(hint, type) and issubclass(hint, Enum) else value


def to_attribute(value: Any) -> dict[str, Any]:
    """Return DynamoDB's typed form of plain data: str, bool, int, list, dict."""
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case list():
            return {"L": [to_attribute(item) for item in value]}
        case dict():
            return {"M": to_item(value)}
    raise TypeError(f"{type(value).__name__} cannot be stored in a record")


def to_item(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item with these attributes."""
    return {name: to_attribute(value) for name, value in data.items()}


def from_attribute(attribute: Mapping[str, Any]) -> Any:
    """Return the plain data of DynamoDB's typed form."""
    [(kind, value)] = attribute.items()
    match kind:
        case "N":
            return int(value)
        case "L":
            return [from_attribute(item) for item in value]
        case "M":
            return from_item(value)
    return value


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item's attributes as plain data."""
    return {name: from_attribute(value) for name, value in item.items()}

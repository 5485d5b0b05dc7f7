"""Convert frozen dataclasses to plain data, and plain data to DynamoDB's typed values.

Standard library only, so that every program can read the same records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache, partial
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tidegate.rules.timestamp import timestamp_from, timestamp_text

Record = TypeVar("Record")


def pack(value: Any) -> Any:
    """Return a dataclass as a dict, a tuple as a list, an enumeration as its value, an instant as text.

    None is left out of dicts.
    """
    if (names := _names(type(value))) is not None:  # type: ignore[arg-type]  # A class can be hashed.
        return {name: pack(item) for name in names if (item := getattr(value, name)) is not None}
    if isinstance(value, tuple):
        return [pack(item) for item in value]
    if isinstance(value, datetime):
        return timestamp_text(value)
    return value.value if isinstance(value, Enum) else value


@cache
def _names(kind: type[Any]) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields, None for any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def unpack(kind: type[Record], data: Mapping[str, Any]) -> Record:
    """Return the packed dataclass ``kind``. Unknown names are ignored, missing ones get their default.

    So records of older and newer versions can be read.
    """
    values = {}
    for name, (read, has_default) in _shape(kind).items():  # type: ignore[arg-type]  # A class can be hashed.
        if name in data:
            values[name] = data[name] if read is None else read(data[name])
        elif not has_default:
            values[name] = None
    return kind(**values)


@cache
def _shape(kind: type[Any]) -> dict[str, tuple[Callable[[Any], Any] | None, bool]]:
    """Return each field's reader (None: unchanged), and whether the field has a default."""
    hints = get_type_hints(kind)
    return {field.name: (_reader(_without_none(hints[field.name])), _has_default(field)) for field in fields(kind)}


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _without_none(hint: Any) -> Any:
    choices = get_args(hint)
    return next(choice for choice in choices if choice is not NoneType) if NoneType in choices else hint


def _reader(hint: Any) -> Callable[[Any], Any] | None:
    """Return the reader of a type from plain data, None if plain data is already such a value."""
    if is_dataclass(hint):
        return partial(unpack, hint)  # type: ignore[arg-type]  # A dataclass as found in a hint is a type.
    if get_origin(hint) is tuple:
        each = _reader(get_args(hint)[0])
        return tuple if each is None else lambda items: tuple(map(each, items))
    if hint is datetime:
        return timestamp_from
    return hint if isinstance(hint, type) and issubclass(hint, Enum) else None


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

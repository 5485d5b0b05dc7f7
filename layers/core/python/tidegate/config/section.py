"""Sections of the configuration file: what all have in common, and where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict

Path = tuple[str, ...]


class Section(BaseModel):
    """A mapping of the file: other keys than its fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def sections_of(section: type[Section], path: Path = ()) -> dict[Path, type[Section]]:
    """Return a section and all in it by their places, where ``*`` stands for any name or number.

    One of several sections that may stand at a place has its ``type`` as the last part of its path.
    """
    found = {path: section}
    for name, field in section.model_fields.items():
        for inner, rest in _inner(field.annotation):
            found |= sections_of(inner, (*path, name, *rest))
    return found


def keys_at(sections: Mapping[Path, type[Section]], path: Sequence[str | int]) -> list[str]:
    """Return the keys that are allowed in the section at a path of the file."""
    for pattern, section in sections.items():
        if len(pattern) == len(path) and all(want in {"*", have} for want, have in zip(pattern, path, strict=True)):
            return list(section.model_fields)
    return []


def _inner(annotation: Any) -> Iterator[tuple[type[Section], Path]]:
    """Return the sections that a field may hold, and where in it they stand."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if _is_section(annotation):
        yield annotation, ()
    elif origin is Annotated:
        yield from _inner(arguments[0])
    elif origin in {tuple, dict}:
        held = arguments[0] if origin is tuple else arguments[1]
        yield from ((section, ("*", *rest)) for section, rest in _inner(held))
    elif origin in {Union, UnionType}:
        several = sum(_is_section(argument) for argument in arguments) > 1
        for argument in arguments:
            for section, rest in _inner(argument):
                yield section, (*_kind(section), *rest) if several and _is_section(argument) else rest


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Section)


def _kind(section: type[Section]) -> Path:
    """Return the word that tells a section from the others that may stand in its place."""
    field = section.model_fields.get("type")
    return get_args(field.annotation)[:1] if field and get_origin(field.annotation) is Literal else ()

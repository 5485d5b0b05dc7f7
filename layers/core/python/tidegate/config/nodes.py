"""YAML as nodes with their places, from libyaml's events: nothing is constructed, and only so deep as is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml.cyaml
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

_STANDARD = "tag:yaml.org,2002:"
_NULL = f"{_STANDARD}null"
#: Tags that may be written out. All scalars but null stay text, whatever they say.
_PLAIN = frozenset(f"{_STANDARD}{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq"))
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(slots=True)
class Node:
    """A value and where it stands, from 1. ``tag`` is one that was written and is not known."""

    line: int
    column: int
    tag: str | None


@dataclass(slots=True)
class Scalar(Node):
    """A text. ``plain`` tells that it has no quotes, ``null`` that it means nothing."""

    text: str
    plain: bool
    null: bool


@dataclass(slots=True)
class Items(Node):
    """A list."""

    items: list[Node]


@dataclass(slots=True)
class Pairs(Node):
    """A mapping, in the order of the file, with repeated keys."""

    pairs: list[tuple[Node, Node]]


class NotYamlError(Exception):
    """A text that is not YAML: why, and where if that is known (line and column, from 1)."""

    def __init__(self, problem: str, place: tuple[int, int] | None) -> None:
        super().__init__(problem)
        self.problem, self.place = problem, place


class TooDeepError(Exception):
    """Values are nested more deeply than is allowed."""


def compose(text: str, depth: int) -> Node | None:
    """Return the one document of a text, None when there is none.

    Raise NotYamlError, and TooDeepError for more than ``depth`` levels.
    """
    try:
        return _Composer(text, depth).document()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise NotYamlError(problem, (mark.line + 1, mark.column + 1) if mark else None) from None
    except YAMLError:
        raise NotYamlError("a control character stands in the file", None) from None


class _Composer:
    def __init__(self, text: str, depth: int) -> None:
        # Called by its module's name: mypy knows no name of libyaml's own as exported.
        parser: Any = yaml.cyaml.CParser(text)  # type: ignore[attr-defined]
        self._events: Iterator[Event] = iter(parser.get_event, None)
        self._depth = depth
        self._anchors: dict[str, Node] = {}

    def document(self) -> Node | None:
        next(self._events)
        if not isinstance(next(self._events), DocumentStartEvent):
            return None
        node = self._node(next(self._events), 0)
        assert isinstance(next(self._events), DocumentEndEvent)  # noqa: S101  # What the grammar of events says.
        after = next(self._events)
        if not isinstance(after, StreamEndEvent):
            raise NotYamlError("a second document begins here", _place(after))
        return node

    def _node(self, event: Event, depth: int) -> Node:
        assert isinstance(event, NodeEvent)  # noqa: S101  # What the grammar of events says.
        if isinstance(event, AliasEvent):
            return self._aliased(event)
        if depth > self._depth:
            raise TooDeepError
        line, column = _place(event)
        node: Node
        if isinstance(event, ScalarEvent):
            node = _scalar(event, line, column)
        elif isinstance(event, SequenceStartEvent):
            node = Items(line, column, _unknown(event.tag), self._items(depth + 1))
        else:
            assert isinstance(event, MappingStartEvent)  # noqa: S101  # There are no other nodes.
            node = Pairs(line, column, _unknown(event.tag), self._pairs(depth + 1))
        # An alias inside its own anchor finds nothing: the anchor is known once its node has ended.
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _items(self, depth: int) -> list[Node]:
        items = []
        while not isinstance(event := next(self._events), CollectionEndEvent):
            items.append(self._node(event, depth))
        return items

    def _pairs(self, depth: int) -> list[tuple[Node, Node]]:
        pairs = []
        while not isinstance(event := next(self._events), CollectionEndEvent):
            key = self._node(event, depth)
            pairs.append((key, self._node(next(self._events), depth)))
        return pairs

    def _aliased(self, event: AliasEvent) -> Node:
        found = self._anchors.get(str(event.anchor))
        if found is None:
            raise NotYamlError(f"no anchor {event.anchor!r} ends before this", _place(event))
        return found


def _place(event: Event) -> tuple[int, int]:
    mark = event.start_mark
    assert mark is not None  # noqa: S101  # The parser marks every event.
    return mark.line + 1, mark.column + 1


def _scalar(event: ScalarEvent, line: int, column: int) -> Scalar:
    plain = event.implicit[0]
    null = event.tag == _NULL or (plain and event.value in _NULLS)
    return Scalar(line, column, _unknown(event.tag), event.value, plain, null)


def _unknown(tag: str | None) -> str | None:
    return None if tag is None or tag == "!" or tag in _PLAIN else tag

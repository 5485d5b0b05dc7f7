"""Patterns of Lua, as Terrateam takes them, as globs and as regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto

_TOKEN = re.compile(r"%(?P<escaped>.)|.", re.DOTALL)
_CLASSES = {"a": "[A-Za-z]", "d": "[0-9]", "l": "[a-z]", "s": "\\s", "u": "[A-Z]", "w": "[A-Za-z0-9]"}
_SIGNS = frozenset("\\.^$*+?()[]{}|-")


class _Kind(Enum):
    LETTER = auto()
    ANY = auto()
    CLASS = auto()
    REPEATED = auto()
    START = auto()
    END = auto()
    OTHER = auto()


def glob(pattern: str) -> str | None:
    """Return the glob of whole names, with ``*`` and ``?``, that a pattern is; None where no glob says as much."""
    parts: list[str] = []
    before = _Kind.START
    for kind, text in _items(pattern):
        if kind is _Kind.LETTER and text not in "*?":
            parts.append(text)
        elif kind is _Kind.ANY:
            parts.append("?")
        elif kind is _Kind.REPEATED and before is _Kind.ANY and text != "?":
            parts[-1] = "?*" if text == "+" else "*"
        elif kind not in {_Kind.START, _Kind.END}:
            return None
        before = kind
    return "".join(parts) or None


def expression(pattern: str) -> str | None:
    """Return the regular expression that a pattern is; None for sets and classes that would be written otherwise."""
    if "[" in pattern:
        return None if re.search(r"%|\](?=[-*+?])", pattern) else pattern
    parts = [_CLASSES.get(text) if kind is _Kind.CLASS else _written(kind, text) for kind, text in _items(pattern)]
    known = [each for each in parts if each is not None]
    return "".join(known) if len(known) == len(parts) else None


def _written(kind: _Kind, text: str) -> str | None:
    if kind is _Kind.LETTER and text in _SIGNS:
        return f"\\{text}"
    if kind is _Kind.REPEATED and text == "-":
        return "*"
    return None if text == "%" and kind is _Kind.OTHER else text


def _items(pattern: str) -> Iterator[tuple[_Kind, str]]:
    """Yield what a pattern consists of. A sign repeats one letter or class, and stands for itself elsewhere."""
    is_repeatable = False
    for match in _TOKEN.finditer(pattern):
        text, kind = match["escaped"] or match[0], _Kind.LETTER
        if match["escaped"]:
            kind = _Kind.CLASS if text.isalnum() else _Kind.LETTER
        elif text in "*+?-" and is_repeatable:
            kind = _Kind.REPEATED
        elif text == ".":
            kind = _Kind.ANY
        elif text in "[]()%":
            kind = _Kind.OTHER
        elif text == "^" and match.start() == 0:
            kind = _Kind.START
        elif text == "$" and match.end() == len(pattern):
            kind = _Kind.END
        is_repeatable = kind in {_Kind.LETTER, _Kind.ANY, _Kind.CLASS}
        yield kind, text

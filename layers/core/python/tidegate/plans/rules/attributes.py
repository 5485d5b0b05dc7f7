"""What a planned change does to attributes: lines with before and after, nested as the values are.

A value is hidden where either side is marked sensitive. What the engine does not know yet is marked unknown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import chain, islice
from typing import Any

#: Lines of one resource, and characters of one value: more is in the plan's text.
MOST_LINES, LONGEST_VALUE = 500, 2000
#: Values nested deeper are left out; a longer list is compared by position; a longer text is not read as JSON.
_DEEPEST, _LONGEST_LIST, _LONGEST_DOCUMENT = 24, 200, 200_000
#: Characters of a list of plain values that fits in a line.
_LINE = 72
#: Unchanged lines that are shown around changed ones of a text.
_AROUND = 2


class Known(StrEnum):
    """What can be shown of a value. ``NESTED``: the following lines, which are deeper, tell it."""

    PLAIN = ""
    SENSITIVE = "sensitive"
    UNKNOWN = "unknown"
    NESTED = "nested"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Shown:
    """A value as people see it: as text, or why not."""

    known: Known
    text: str = ""


@dataclass(frozen=True, slots=True)
class AttributeLine:
    """A line: ``sign`` is ``+``, ``-``, ``~`` or a space; ``name`` is empty for elements of lists and lines of texts.

    ``forces`` tells that this attribute forces the replacement, ``note`` says what cannot be seen of the values.
    """

    depth: int
    sign: str
    name: str
    before: Shown
    after: Shown
    forces: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Secret:
    """A sensitive value, which is only compared."""

    value: str


class _Unknown:
    """What is known after the apply. It equals nothing, so it is always a change."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return False


class _Nothing:
    """No value at all."""


_UNKNOWN, _NOTHING = _Unknown(), _Nothing()
_ABSENT, _NESTED = Shown(Known.ABSENT), Shown(Known.NESTED)
_SENSITIVE, _LATER = Shown(Known.SENSITIVE), Shown(Known.UNKNOWN)


def attribute_lines(change: Mapping[str, Any], mask: Callable[[str], str]) -> Iterator[AttributeLine]:
    """Yield the lines of a change with ``before``, ``after`` and their marks, as the engine's JSON has them.

    ``mask`` replaces known secrets in each text. Attributes that stay as they are have no line.
    """
    before = _tree(change.get("before"), change.get("before_sensitive"), False)
    after = _tree(change.get("after"), change.get("after_sensitive"), change.get("after_unknown"))
    paths = {tuple(path) for path in change.get("replace_paths") or () if _is_path(path)}
    lines = _Lines(mask, frozenset(paths)).between(before, after)
    yield from islice(lines, MOST_LINES)
    if next(lines, None) is not None:
        yield AttributeLine(0, " ", "", _ABSENT, _ABSENT, note="More attributes change: see the plan's text.")


def _is_path(path: Any) -> bool:
    return isinstance(path, list) and all(isinstance(step, str | int) for step in path)


def _tree(value: Any, sensitive: Any, unknown: Any, depth: int = 0) -> Any:
    """Return a value with what is marked in it; ``sensitive`` and ``unknown`` are true, or have the value's shape."""
    if sensitive is True:
        is_absent = value is None and unknown is not True
        return None if is_absent else _Secret("" if unknown is True else _written(value))
    if unknown is True:
        return _UNKNOWN
    if depth > _DEEPEST:
        return "(nested too deep to be shown)"
    if value is None and isinstance(unknown, dict | list) and _marks(unknown, depth):
        value = type(unknown)()
    if isinstance(value, dict):
        later = unknown if isinstance(unknown, dict) else {}
        secret = sensitive if isinstance(sensitive, dict) else {}
        names = chain(value, (name for name in later if name not in value and _marks(later[name], depth)))
        return {name: _tree(value.get(name), secret.get(name), later.get(name), depth + 1) for name in names}
    if isinstance(value, list):
        count = max(len(value), len(unknown) if isinstance(unknown, list) else 0)
        return [
            _tree(_at(value, place), _at(sensitive, place), _at(unknown, place), depth + 1) for place in range(count)
        ]
    return value


def _at(values: Any, place: int) -> Any:
    return values[place] if isinstance(values, list) and place < len(values) else None


def _marks(marks: Any, depth: int) -> bool:
    """Tell whether anything is marked."""
    if isinstance(marks, dict | list) and depth <= _DEEPEST:
        return any(_marks(each, depth + 1) for each in (marks.values() if isinstance(marks, dict) else marks))
    return marks is True


class _Lines:
    """Compares two trees."""

    def __init__(self, mask: Callable[[str], str], forcing: frozenset[tuple[str | int, ...]]) -> None:
        self._mask, self._forcing = mask, forcing

    def between(self, before: Any, after: Any) -> Iterator[AttributeLine]:
        """Yield the lines of a resource: its attributes are not nested in one of their own."""
        if isinstance(before, dict | None) and isinstance(after, dict | None):
            yield from self._members(before or {}, after or {}, 0, ())
        else:
            yield from self._change("", before, after, 0, ())

    def _members(
        self, before: Mapping[str, Any], after: Mapping[str, Any], depth: int, path: tuple[str | int, ...]
    ) -> Iterator[AttributeLine]:
        for name in sorted(before.keys() | after.keys()):
            values = before.get(name, _NOTHING), after.get(name, _NOTHING)
            yield from self._change(name, *values, depth, (*path, name))

    def _change(
        self, name: str, before: Any, after: Any, depth: int, path: tuple[str | int, ...]
    ) -> Iterator[AttributeLine]:
        """Yield the lines of one attribute or element; none if it stays as it is. Null is as good as nothing."""
        if before == after or (_is_nothing(before) and _is_nothing(after)):
            return
        sign = _sign(before, after)
        if isinstance(before, _Secret) or isinstance(after, _Secret):
            shown = _ABSENT if sign == "+" else _SENSITIVE, _ABSENT if sign == "-" else _SENSITIVE
            yield AttributeLine(depth, sign, self._mask(name), *shown, self._forces(path, whole=True))
            return
        note, (before, after) = _documents(before, after, self._mask)
        if before == after:
            yield AttributeLine(depth, sign, self._mask(name), _ABSENT, _ABSENT, note="only its spaces change")
        elif _are(dict, before, after) or _are(list, before, after):
            yield from self._nested(name, before, after, depth, path, note)
        elif _are_texts(before, after):
            yield AttributeLine(depth, sign, self._mask(name), _NESTED, _NESTED, self._forces(path, whole=True))
            yield from self._text(before, after, depth + 1)
        else:
            shown = self._shown(before), self._shown(after)
            yield AttributeLine(depth, sign, self._mask(name), *shown, self._forces(path, whole=True))

    def _nested(
        self, name: str, before: Any, after: Any, depth: int, path: tuple[str | int, ...], note: str
    ) -> Iterator[AttributeLine]:
        sign = _sign(before, after)
        one_line = self._one_line(after if sign == "+" else before) if sign != "~" else None
        if one_line is not None:
            sides = (_ABSENT, one_line) if sign == "+" else (one_line, _ABSENT)
            yield AttributeLine(depth, sign, self._mask(name), *sides, self._forces(path, whole=True), note)
            return
        yield AttributeLine(depth, sign, self._mask(name), _NESTED, _NESTED, self._forces(path, whole=False), note)
        if _are(dict, before, after):
            members = before if isinstance(before, dict) else {}, after if isinstance(after, dict) else {}
            yield from self._members(*members, depth + 1, path)
        else:
            elements = before if isinstance(before, list) else [], after if isinstance(after, list) else []
            yield from self._elements(*elements, depth + 1, path)

    def _elements(
        self, before: Sequence[Any], after: Sequence[Any], depth: int, path: tuple[str | int, ...]
    ) -> Iterator[AttributeLine]:
        """Yield the lines of lists: equal elements are found wherever they are, what is between them is compared."""
        for (first, last), (start, end) in _differing(before, after):
            count = max(last - first, end - start)
            for step in range(count):
                was = before[first + step] if first + step < last else _NOTHING
                becomes = after[start + step] if start + step < end else _NOTHING
                place = start + step if start + step < end else first + step
                nested = isinstance(was, dict | list) or isinstance(becomes, dict | list)
                yield from self._change(f"[{place}]" if nested else "", was, becomes, depth, (*path, place))

    def _text(self, before: Any, after: Any, depth: int) -> Iterator[AttributeLine]:
        """Yield the lines of a text of several lines, with some that stay around those that change."""
        old, new = (each.split("\n") if isinstance(each, str) else [] for each in (before, after))
        if max(len(old), len(new)) > _LONGEST_LIST:
            groups = [[("replace", 0, len(old), 0, len(new))]]
        else:
            groups = list(SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_AROUND))
        for tag, first, last, start, end in (each for group in groups for each in group):
            if tag == "equal":
                yield from (AttributeLine(depth, " ", "", self._line(each), _ABSENT) for each in old[first:last])
                continue
            yield from (AttributeLine(depth, "-", "", self._line(each), _ABSENT) for each in old[first:last])
            yield from (AttributeLine(depth, "+", "", _ABSENT, self._line(each)) for each in new[start:end])

    def _line(self, text: str) -> Shown:
        return Shown(Known.PLAIN, _cut(self._mask(text)))

    def _one_line(self, values: Any) -> Shown | None:
        """Return a short list of plain values, or an empty value, as one text; None for anything else."""
        if isinstance(values, list) and all(_is_plain(each) for each in values):
            text = f"[{', '.join(map(_written, values))}]"
            return self._line(text) if len(text) <= _LINE else None
        return Shown(Known.PLAIN, "{}") if values == {} else None

    def _shown(self, value: Any) -> Shown:
        if _is_nothing(value):
            return _ABSENT
        if isinstance(value, _Unknown):
            return _LATER
        if isinstance(value, dict | list):
            return self._one_line(value) or Shown(Known.PLAIN, "{…}" if isinstance(value, dict) else "[…]")
        return self._line(_written(value))

    def _forces(self, path: tuple[str | int, ...], *, whole: bool) -> bool:
        """Tell whether a path forces the replacement; ``whole`` if what is below it has no lines of its own."""
        return path in self._forcing or (whole and any(each[: len(path)] == path for each in self._forcing))


def _differing(before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    if max(len(before), len(after)) > _LONGEST_LIST:
        yield (0, len(before)), (0, len(after))
        return
    keys = [_key(each) for each in before], [_key(each) for each in after]
    for tag, first, last, start, end in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if tag != "equal":
            yield (first, last), (start, end)


def _key(value: Any) -> str:
    """Return a text that is equal for equal values; that of an unknown value is no other's."""
    return json.dumps(value, sort_keys=True, default=lambda each: [type(each).__name__, getattr(each, "value", "")])


def _documents(before: Any, after: Any, mask: Callable[[str], str]) -> tuple[str, tuple[Any, Any]]:
    """Return both values, parsed if all of them are JSON documents (policies and the like), and a note that says so."""
    parsed = _document(before, mask), _document(after, mask)
    if all(each is not None for each in parsed) and any(isinstance(each, dict | list) for each in parsed):
        return "JSON", parsed
    return "", (before, after)


def _document(value: Any, mask: Callable[[str], str]) -> Any:
    """Return the object or list that a text is as JSON; None for another value, no value as it is.

    A document that is a known secret as a whole is none once it is masked: its members alone would not be recognized.
    """
    if _is_nothing(value):
        return _NOTHING
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")) or len(value) > _LONGEST_DOCUMENT:
        return None
    try:
        json.loads(mask(value), parse_int=str)
        return _tree(json.loads(value, parse_int=str, parse_float=str), None, None)
    except (ValueError, RecursionError):
        return None


def _sign(before: Any, after: Any) -> str:
    return "+" if _is_nothing(before) else "-" if _is_nothing(after) else "~"


def _is_nothing(value: Any) -> bool:
    return value is None or isinstance(value, _Nothing)


def _are(kind: type[Any], before: Any, after: Any) -> bool:
    """Tell whether all values that there are have a kind."""
    there = [each for each in (before, after) if not _is_nothing(each)]
    return all(isinstance(each, kind) for each in there)


def _are_texts(before: Any, after: Any) -> bool:
    return _are(str, before, after) and any(isinstance(each, str) and "\n" in each.strip() for each in (before, after))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cut(text: str) -> str:
    left = len(text) - LONGEST_VALUE
    return f"{text[:LONGEST_VALUE]}… ({left:,} more characters)" if left > 0 else text

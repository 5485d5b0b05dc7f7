"""The stored form of a structured plan: an index of all rows, and each row's attributes, compressed on their own.

So the rows of a plan of thousands of resources are read without their attributes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from tidegate.plans.rules.attributes import AttributeLine, Known, Shown
from tidegate.plans.rules.structured import Kind, PlanRow, RowDetails, Section, by_urgency

#: Rows and bytes of attributes that are stored: a page that has more is read by nobody.
MOST_ROWS, MOST_BYTES = 20_000, 16_000_000
#: Bytes that the index and one row's attributes may have once they are decompressed.
_LARGEST_INDEX, _LARGEST_ROW = 64_000_000, 8_000_000
_LENGTH = 4
_NAMES = tuple(each.name for each in fields(PlanRow))
_LEFT_OUT = AttributeLine(
    0, " ", "", Shown(Known.ABSENT), Shown(Known.ABSENT), note="This plan is too large: see its text for attributes."
)


@dataclass(frozen=True, slots=True)
class StructuredPlan:
    """All rows in the order of ``by_urgency``, and where their attributes are. ``left_out`` counts rows beyond."""

    rows: tuple[PlanRow, ...]
    left_out: int
    _details: tuple[tuple[int, int], ...]
    _content: bytes

    def lines(self, place: int) -> tuple[AttributeLine, ...]:
        """Return the attribute lines of the row at a place. Raise ValueError for what ``packed`` did not make."""
        start, end = self._details[place]
        if not self.rows[place].has_details:
            return ()
        return tuple(map(_line, _decompressed(self._content[start:end], _LARGEST_ROW)))


def packed(rows: Iterable[RowDetails]) -> bytes:
    """Return the stored form of a plan's rows, in the order in which they are read."""
    found: list[PlanRow] = []
    details: list[bytes] = []
    size = 0
    for each in rows:
        lines = each.lines if size < MOST_BYTES else (_LEFT_OUT,)
        content = _compressed([_written(line) for line in lines]) if each.row.has_details else b""
        found.append(each.row)
        details.append(content)
        size += len(content)
    order = by_urgency(found)[:MOST_ROWS]
    index = _compressed(
        {
            "rows": [[*(getattr(found[place], name) for name in _NAMES), len(details[place])] for place in order],
            "left_out": len(found) - len(order),
        }
    )
    return b"".join([len(index).to_bytes(_LENGTH, "big"), index, *(details[place] for place in order)])


def unpacked(content: bytes) -> StructuredPlan:
    """Return the plan of its stored form. Raise ValueError for anything else."""
    start = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
    try:
        index = _decompressed(content[_LENGTH:start], _LARGEST_INDEX)
        rows, places = [], []
        for *values, length in index["rows"]:
            rows.append(_row(values))
            places.append((start, start + int(length)))
            start += int(length)
        return StructuredPlan(tuple(rows), int(index["left_out"]), tuple(places), content)
    except (KeyError, TypeError) as error:
        raise ValueError("this is not a structured plan") from error


def _row(values: Sequence[Any]) -> PlanRow:
    row = PlanRow(*values)
    return replace(row, section=Section(row.section), kind=Kind(row.kind), forces=tuple(map(str, row.forces)))


def _written(line: AttributeLine) -> list[Any]:
    before, after = line.before, line.after
    return [
        line.depth, line.sign, line.name, before.known, before.text, after.known, after.text, line.forces, line.note
    ]  # fmt: skip


def _line(values: Sequence[Any]) -> AttributeLine:
    try:
        depth, sign, name, was, before, becomes, after, forces, note = values
    except TypeError as error:
        raise ValueError("this is not a line of a structured plan") from error
    shown = Shown(Known(was), str(before)), Shown(Known(becomes), str(after))
    return AttributeLine(int(depth), str(sign), str(name), *shown, bool(forces), str(note))


def _compressed(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 6)


def _decompressed(content: bytes, most: int) -> Any:
    """Return what ``_compressed`` got. Raise ValueError for anything else, or for more than ``most`` bytes."""
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(content, most)
    except zlib.error as error:
        raise ValueError("this is not a structured plan") from error
    if not reader.eof:
        raise ValueError("this structured plan is too large, or cut off")
    return json.loads(text)

"""Parse colours in a log's lines: pieces of text with style names, as a terminal would show them.

Only "select graphic rendition" is supported; every other escape sequence, control character and bidirectional mark is
dropped. Style names are from a fixed list, so a log cannot choose its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tidegate.texts.markdown import plain

_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]*)m")
_EXTENDED = {38, 48}
_LONGEST_CODE = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """Text in one style; ``style`` is a list of class names, empty for plain text."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class _Pen:
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    colour: int | None = None
    ground: int | None = None

    @property
    def style(self) -> str:
        names = [name for name in ("bold", "dim", "italic", "underline", "strike") if getattr(self, name)]
        names += [] if self.colour is None else [f"fg{self.colour}"]
        names += [] if self.ground is None else [f"bg{self.ground}"]
        return " ".join(names)


_SWITCHES: dict[int, dict[str, Any]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    9: {"strike": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    29: {"strike": False},
    39: {"colour": None},
    49: {"ground": None},
}


def pieces(line: str) -> list[Piece]:
    """Return a line's pieces. What a carriage return overwrites is not shown; styles end with the line."""
    found: list[Piece] = []
    for text, style in _styled(_last_written(line)):
        shown = plain(text).replace("\n", " ")
        if shown and found and found[-1].style == style:
            found[-1] = Piece(found[-1].text + shown, style)
        elif shown:
            found.append(Piece(shown, style))
    return found


def bare(line: str) -> str:
    """Return the text of a line."""
    return "".join(piece.text for piece in pieces(line))


def _last_written(line: str) -> str:
    parts = [part for part in line.split("\r") if part]
    return parts[-1] if parts else ""


def _styled(line: str) -> Iterator[tuple[str, str]]:
    pen, end = _Pen(), 0
    for match in _SGR.finditer(line):
        yield line[end : match.start()], pen.style
        pen, end = _drawn(pen, match.group(1)), match.end()
    yield line[end:], pen.style


def _drawn(pen: _Pen, text: str) -> _Pen:
    codes = iter([int(code or 0) for code in text.replace(":", ";")[:_LONGEST_CODE].split(";")])
    for code in codes:
        if code in _EXTENDED:
            pen = _extended(pen, code, codes)
        elif code == 0:
            pen = _Pen()
        else:
            pen = replace(pen, **(_SWITCHES.get(code) or _basic(code)))
    return pen


def _basic(code: int) -> dict[str, Any]:
    for first, name, bright in ((30, "colour", 0), (40, "ground", 0), (90, "colour", 8), (100, "ground", 8)):
        if first <= code < first + 8:
            return {name: code - first + bright}
    return {}


def _extended(pen: _Pen, code: int, codes: Iterator[int]) -> _Pen:
    """Read ``38;5;N`` and ``38;2;R;G;B``: only the sixteen colours that have names are shown."""
    kind = next(codes, 0)
    if kind == 2:  # noqa: PLR2004  # The form with red, green and blue.
        for _ in range(3):
            next(codes, 0)
        return pen
    number = next(codes, -1)
    name = "colour" if code == 38 else "ground"  # noqa: PLR2004  # ECMA-48's number.
    chosen: dict[str, Any] = {name: number}
    return replace(pen, **chosen) if 0 <= number < 16 else pen  # noqa: PLR2004  # ECMA-48's number.

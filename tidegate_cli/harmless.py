"""Escape external text for a terminal: only visible text reaches it, and colours on request."""

from __future__ import annotations

import json
import re
from typing import Any

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
#: Control characters but tab, and those that turn the direction of text or cannot be seen at all.
_HOSTILE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_PICTURES = 0x2400
_DELETE, _DELETE_PICTURE = 0x7F, "\u2421"
_RESET = "\x1b[0m"
#: Attributes that only change how text looks. Left out: blinking (5, 6), swapped (7) and hidden (8).
_LOOKS = frozenset([0, 1, 2, 3, 4, *range(21, 26), 29, *range(30, 38), 39, *range(40, 48), 49, *range(90, 108)])
_EXTENDED = frozenset([38, 48])


def plain(text: str) -> str:
    """Return ``text`` on one line without anything that a terminal acts on; control characters become visible."""
    return _HOSTILE.sub(_visible, _SGR.sub("", text))


def coloured(line: str) -> str:
    """Return a line of a log like ``plain``, but with its colours, which end with the line."""
    pieces, end, colour = [], 0, False
    for found in _SGR.finditer(line):
        looks = _allowed(found.group(1))
        pieces += [_HOSTILE.sub(_visible, line[end : found.start()]), looks]
        end, colour = found.end(), colour or bool(looks)
    pieces.append(_HOSTILE.sub(_visible, line[end:]))
    return "".join(pieces) + (_RESET if colour else "")


def dumps(value: Any, *, indent: int | None = 2) -> str:
    """Return JSON that keeps letters of all languages readable and nothing else: a terminal acts on nothing in it."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return "\n".join(_HOSTILE.sub(_escaped, line) for line in text.split("\n"))


def _allowed(parameters: str) -> str:
    """Return the sequence with these parameters as far as it only sets colours and weights."""
    numbers = [int(number or 0) for number in re.split("[;:]", parameters[:60])]
    kept: list[int] = []
    while numbers:
        first = numbers.pop(0)
        if first in _EXTENDED:
            count = {5: 2, 2: 4}.get(numbers[0] if numbers else 0, 0)
            if len(numbers) < count or not count:
                break
            kept += [first, *numbers[:count]]
            del numbers[:count]
        elif first in _LOOKS:
            kept.append(first)
    return f"\x1b[{';'.join(map(str, kept))}m" if kept else ""


def _visible(found: re.Match[str]) -> str:
    number = ord(found.group())
    if number < ord(" "):
        return chr(_PICTURES + number)
    return _DELETE_PICTURE if number == _DELETE else f"<U+{number:04X}>"


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"

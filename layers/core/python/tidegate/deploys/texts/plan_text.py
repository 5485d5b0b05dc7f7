"""The engine's output for check runs: coloured as a diff, and shortened."""

from __future__ import annotations

import re

from tidegate.texts.markdown import fenced, plain, size

_CHANGE = re.compile(r"^([ \t]*)(-/\+|\+/-|<=|[+\-~])(?=[ \t])", re.MULTILINE)
#: How a diff is coloured: ``+`` green, ``-`` red, ``!`` orange. A replacement destroys, so it is red.
_COLOURS = {"+": "+", "-": "-", "~": "!", "-/+": "-/+", "+/-": "-/+", "<=": " <="}
#: What the engine says of its own signs before the first change, in each plan again.
_LEGEND = re.compile(
    r"^\w+\s+used\s+the\s+selected\s+providers\s+to\s+generate\s+the\s+following\s+execution\s+plan\.\s+"
    r"Resource\s+actions\s+are\s+indicated\s+with\s+the\s+following\s+symbols:\n"
    r"(?:[ \t]*(?:-/\+|\+/-|<=|[+\-~.])[ \t]+(?:create|update in-place|destroy|read \(data resources\)|forget"
    r"|destroy and then create replacement|create replacement and then destroy)[ \t]*\n)*\n*",
    re.MULTILINE,
)


def as_diff(plan: str) -> str:
    """Return a plan as the engine prints it, with its markers where a diff has them: first in the line.

    What the engine says of its signs is left out: a diff's colours say it.
    """
    text = _LEGEND.sub("", plain(plan), count=1)
    return _CHANGE.sub(lambda match: _COLOURS[match.group(2)] + match.group(1), text)


def cut_middle(text: str, room: int, whole: int | None = None) -> str:
    """Return the text in at most ``room`` bytes: its first and last lines, and how much is missing between.

    ``whole`` is the size of the text that this is the beginning of: then only the beginning is kept.
    """
    missing_after = max(0, (whole or 0) - size(text))
    if size(text) <= room and not missing_after:
        return text
    if missing_after:
        start = _first_lines(text, room - _NOTE_ROOM)
        return f"{start}\n{_note(missing_after + size(text) - size(start))}"
    start = _first_lines(text, (room - _NOTE_ROOM) * 2 // 3)
    end = _last_lines(text, room - _NOTE_ROOM - size(start))
    return f"{start}\n{_note(size(text) - size(start) - size(end))}\n{end}"


def fenced_plan(text: str, whole: int, room: int) -> str:
    """Return a plan in a diff's fence of at most ``room`` bytes. ``whole`` is the size of what ``text`` begins.

    Making it harmless may make it longer: then it is cut again.
    """
    missing = max(0, whole - size(text))
    diff, allowed = as_diff(text), room
    while True:
        block = fenced(cut_middle(diff, allowed, size(diff) + missing if missing else None), "diff")
        if size(block) <= room:
            return block
        allowed -= size(block) - room


_NOTE_ROOM = 80


def _note(missing: int) -> str:
    return f"… {missing:,} bytes omitted …"


def _first_lines(text: str, room: int) -> str:
    """Return whole lines from the beginning, or a part of the first line when it alone is too long."""
    start = text.encode()[: max(0, room)].decode(errors="ignore")
    return start if size(start) == size(text) else start.rpartition("\n")[0] or start


def _last_lines(text: str, room: int) -> str:
    end = text.encode()[max(0, size(text) - max(0, room)) :].decode(errors="ignore")
    return end if size(end) == size(text) else end.partition("\n")[2] or end

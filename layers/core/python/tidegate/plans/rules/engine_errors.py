"""The engine's errors: the first one in one line, and the file and line of each, from what it printed.

The engine prints either text or JSON. The log is for people, so it is text (docs/decisions/0291).
"""

from __future__ import annotations

import posixpath
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise, takewhile

from tidegate.roots.rules.root import directory
from tidegate.rules.errors import InvalidName

#: Characters of a title and of a message at most: a check run's annotations have few, and the log has all.
LONGEST_TITLE, LONGEST_MESSAGE = 200, 2000
#: Characters of what the first error says at most, in a line of a list.
LONGEST_SAID = 240
_ERROR = "Error: "
#: What ends an error: a warning, and lines of the runner and the engine after the last one.
_OTHER = ("Warning: ", "tidegate: ", "Releasing state lock.")
_LOCATION = re.compile(r"  on (.{1,1024}?) line ([1-9][0-9]{0,6})(?:, in .*|:)?")
#: How ``init`` names where a module is called that it cannot install.
_CALL = re.compile(r'module "[^"]{1,256}" (?:at |\()([^\s():]{1,1024}):([1-9][0-9]{0,6})\b')
#: A line of the source that is quoted below the location, or a value in it.
_QUOTED = re.compile(r" +(?:[0-9]+:|[├│]|\(source code not available\)).*")
#: What programs of a workflow's steps add, which run the engine with colours: the frame around an error.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r"^(?:[╷╵]|│ ?)")


@dataclass(frozen=True, slots=True)
class EngineError:
    """An error at a line (from 1) of a file, whose path is relative to the repository's top."""

    path: str
    line: int
    title: str
    message: str


def engine_errors(text: str, root: str) -> tuple[EngineError, ...]:
    """Return the errors in the engine's output that are at a line of a file of the repository, each once.

    ``root`` is the directory in which it ran. Anything may have printed the text: what is outside of the repository,
    or in ``.terraform``, is left out.
    """
    return tuple(dict.fromkeys(filter(None, (_error(title, body, root) for title, body in _errors(text)))))


def first_error(text: str) -> str:
    """Return the first error in the engine's output as one line: its title, file and line, and what it says.

    File and line are there if the error names them. Empty if there is no error.
    """
    first = next(_errors(text), None)
    title = first[0].rstrip(" .:") if first else ""
    if first is None or not title:
        return ""
    found, said = _location(first[1]), _said(first[1])
    where = f"{title} ({found.file} line {found.line})" if found else title
    return f"{where}: {said}" if said else where


@dataclass(frozen=True, slots=True)
class _Location:
    """Where an error is, and the lines of its message."""

    file: str
    line: int
    message: Sequence[str]


def _errors(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the title of each error, and the lines below it."""
    lines = [_FRAME.sub("", line) for line in _without_colours(text)]
    starts = [at for at, line in enumerate(lines) if line.startswith((_ERROR, *_OTHER))]
    for start, end in pairwise([*starts, len(lines)]):
        if lines[start].startswith(_ERROR):
            yield lines[start].removeprefix(_ERROR).strip()[:LONGEST_TITLE], lines[start + 1 : end]


def _without_colours(text: str) -> list[str]:
    return _COLOUR.sub("", text).splitlines()


def _location(body: Sequence[str]) -> _Location | None:
    for at, line in enumerate(body):
        if found := _LOCATION.fullmatch(line):
            return _Location(found[1], int(found[2]), body[at + 1 :])
    call = _CALL.search(" ".join(body))  # The engine breaks long lines.
    return _Location(call[1], int(call[2]), body) if call else None


def _said(body: Sequence[str]) -> str:
    """Return the first paragraph of an error's message. What the engine adds about the location is indented."""
    message = dropwhile(lambda line: not line or line.startswith(" "), body)
    paragraph = " ".join(takewhile(bool, map(str.strip, message)))
    return textwrap.shorten(paragraph, LONGEST_SAID, placeholder=" …").rstrip(" .:")


def _error(title: str, body: Sequence[str], root: str) -> EngineError | None:
    found = _location(body)
    path = _in_repository(root, found.file) if found else ""
    if not found or not path:
        return None
    title = title or "Error"
    message = "\n".join(line for line in found.message if not _QUOTED.fullmatch(line)).strip()
    return EngineError(path, found.line, title, message[:LONGEST_MESSAGE] or title)


def _in_repository(root: str, file: str) -> str:
    """Return the path of a file from the repository's top; empty if it is not one of the repository."""
    if file.startswith("/"):
        return ""
    try:
        path = directory(posixpath.normpath(posixpath.join(root, file)))
    except InvalidName:
        return ""
    return "" if path == "." or ".terraform" in path.split("/") else path

"""The engine's errors: the first one's title, and the file and line of each, from what it printed without colours.

Its JSON has the same for ``validate`` and for plans, but the log is for people, and a job runs the engine once.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tidegate.roots.rules.root import directory
from tidegate.rules.errors import InvalidName

#: Characters of a title and of a message at most: a check run's annotations have few, and the log has all.
LONGEST_TITLE, LONGEST_MESSAGE = 200, 2000
_ERROR, _OTHER = "Error: ", "Warning: "
_LOCATION = re.compile(r"  on (.{1,1024}?) line ([1-9][0-9]{0,6})(?:, in .*|:)?")
#: A line of the source that is quoted below the location, or a value in it.
_QUOTED = re.compile(r" +(?:[0-9]+:|[├│]).*")


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
    return tuple(dict.fromkeys(_found(text.splitlines(), root)))


def first_error(text: str) -> str:
    """Return the title of the first error in the engine's output, with its file and line if it names them.

    Empty if there is none.
    """
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith(_ERROR)), None)
    if start is None:
        return ""
    title = lines[start].removeprefix(_ERROR).strip()[:LONGEST_TITLE].rstrip(" .:")
    end = next((at for at, line in enumerate(lines) if at > start and line.startswith((_ERROR, _OTHER))), len(lines))
    found = next(filter(None, map(_LOCATION.fullmatch, lines[start + 1 : end])), None)
    return f"{title} ({found[1]} line {found[2]})" if found and title else title


def _found(lines: list[str], root: str) -> Iterator[EngineError]:
    starts = [at for at, line in enumerate(lines) if line.startswith((_ERROR, _OTHER))]
    for start, end in pairwise([*starts, len(lines)]):
        title, body = lines[start], lines[start + 1 : end]
        located = next(((at, found) for at, line in enumerate(body) if (found := _LOCATION.fullmatch(line))), None)
        if not title.startswith(_ERROR) or located is None:
            continue
        at, found = located
        path = _in_repository(root, found[1])
        if path:
            message = "\n".join(line for line in body[at + 1 :] if not _QUOTED.fullmatch(line)).strip()
            title = title.removeprefix(_ERROR).strip()[:LONGEST_TITLE] or "Error"
            yield EngineError(path, int(found[2]), title, message[:LONGEST_MESSAGE] or title)


def _in_repository(root: str, file: str) -> str:
    """Return the path of a file from the repository's top; empty if it is not one of the repository."""
    if file.startswith("/"):
        return ""
    try:
        path = directory(posixpath.normpath(posixpath.join(root, file)))
    except InvalidName:
        return ""
    return "" if path == "." or ".terraform" in path.split("/") else path

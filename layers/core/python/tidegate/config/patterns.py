"""Patterns of files, as in ``.gitignore``, relative to a root's directory."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache

from pathspec import PathSpec
from pathspec.pattern import Pattern

_SPECIAL = re.compile(r"([\\*?\[\]!#])")
_ABOVE = "../"


def root_patterns(directory: str, patterns: Sequence[str]) -> PathSpec[Pattern]:
    """Return what matches the files that ``patterns`` mean for the root in ``directory``.

    A pattern is relative to the directory, ``../`` leads out of it, and a leading ``/`` means the
    repository's top. ``!`` excludes; the last pattern that matches a file decides. Raise ValueError
    for a pattern that has no meaning.
    """
    return PathSpec.from_lines("gitignore", [_from_top(directory, pattern) for pattern in patterns])


def check_patterns(directory: str, patterns: Sequence[str]) -> None:
    """Raise ValueError for a pattern that leads out of the repository from here, or names no file."""
    for pattern in patterns:
        _from_top(directory, pattern)


def matches(patterns: PathSpec[Pattern], path: str) -> bool:
    """Tell whether a file matches. A newline counts as a space: pathspec's wildcards stop at newlines."""
    return patterns.match_file(path.replace("\n", " "))


def leads_out(pattern: str) -> bool:
    """Tell whether a pattern is for files that need not lie below the root's directory."""
    return pattern.removeprefix("!").removeprefix("./").startswith(("/", _ABOVE))


def literal_directory(directory: str, pattern: str) -> str:
    """Return the longest directory, from the top, that all files lie below which a pattern means; ``.`` is the top."""
    if not leads_out(pattern) and "\n" not in directory:  # As nearly all do: what is below is the same for each root.
        return "/".join(part for part in (directory.removeprefix("."), _literal(pattern)) if part) or "."
    _, parts, rest = _parts(directory, pattern)
    return "/".join(part for part in (*parts, _literal(rest)) if part) or "."


@lru_cache(1000)
def _literal(pattern: str) -> str:
    """Return the directories that a pattern inside some directory begins with, as far as they are plain names."""
    parts = itertools.takewhile(lambda part: not _SPECIAL.search(part), _parts(".", pattern)[2].split("/")[:-1])
    return "/".join(part for part in parts if part)


def _from_top(directory: str, pattern: str) -> str:
    """Return the pattern relative to the repository's top, and anchored there."""
    negation, parts, rest = _parts(directory, pattern)
    return negation + "/" + "".join(_SPECIAL.sub(r"\\\1", part) + "/" for part in parts) + rest


def _parts(directory: str, pattern: str) -> tuple[str, list[str], str]:
    """Return the sign of a pattern, the directory that it is relative to, by its parts, and the rest of it."""
    negation = "!" if pattern.startswith("!") else ""
    rest = pattern.removeprefix("!").removeprefix("./")
    parts = [] if directory == "." else directory.replace("\n", " ").split("/")
    if rest.startswith("/"):
        parts, rest = [], rest[1:]
    while rest.startswith(_ABOVE):
        if not parts:
            raise ValueError(f"{pattern!r} leads out of the repository")
        parts, rest = parts[:-1], rest.removeprefix(_ABOVE)
    if not rest.strip("/ ") or ".." in rest.split("/"):
        raise ValueError(f"{pattern!r} names no file")
    return negation, parts, rest

"""File patterns, as in ``.gitignore``, relative to a root's directory."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pathspec.patterns.gitignore.basic import GitIgnoreBasicPattern

from tidegate.config.expressions import Expression

_SPECIAL = re.compile(r"([\\*?\[\]!#])")
_ABOVE = "../"
#: Matches nothing, for patterns that pathspec ignores, such as comments.
_NOTHING = r"\z."


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern for files below a directory, by their paths from there. ``above`` ends in a slash, or is empty."""

    above: str
    expression: Expression
    includes: bool

    def matches(self, path: str) -> bool:
        return path.startswith(self.above) and self.expression.search(path[len(self.above) :])


@dataclass(frozen=True, slots=True)
class FilePatterns:
    """Patterns of which the last match decides. That takes linear time in the file's path."""

    last_first: tuple[_Pattern, ...]

    def match(self, path: str) -> bool:
        """Tell whether a file is meant."""
        # A newline counts as a space, as wildcards stop at newlines; halves of characters are in no pattern.
        path = path.replace("\n", " ").encode(errors="replace").decode()
        return next((each.includes for each in self.last_first if each.matches(path)), False)


def root_patterns(directory: str, patterns: Sequence[str]) -> FilePatterns:
    """Return the matcher of files that ``patterns`` select for the root in ``directory``.

    A pattern is relative to the directory, ``../`` leaves it, and a leading ``/`` means the repository's top. ``!``
    excludes; the last matching pattern decides. Raise ValueError for an invalid pattern.
    """
    return FilePatterns(tuple(_pattern(directory, each) for each in reversed(patterns)))


def _pattern(directory: str, pattern: str) -> _Pattern:
    negation, parts, rest = _parts(directory, pattern)
    above = "".join(f"{part}/" for part in parts).encode(errors="replace").decode()
    return _Pattern(above, _expression(rest), not negation)


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> Expression:
    """Return the regular expression of a pattern from the start of paths. Raise ValueError if it is invalid.

    Anybody who may push writes patterns and file names, and Python's expressions may take exponential time on some
    (docs/decisions/0081).
    """
    text = GitIgnoreBasicPattern.pattern_to_regex(f"/{pattern}")[0] or _NOTHING
    try:
        return Expression(text)
    except ValueError:
        raise ValueError(f"{pattern!r} is not a file pattern") from None


def check_patterns(directory: str, patterns: Sequence[str]) -> None:
    """Raise ValueError for a pattern that leaves the repository, or matches no file."""
    for pattern in patterns:
        _parts(directory, pattern)


def leads_out(pattern: str) -> bool:
    """Tell whether a pattern may match files outside of the root's directory."""
    return pattern.removeprefix("!").removeprefix("./").startswith(("/", _ABOVE))


def literal_directory(directory: str, pattern: str) -> str:
    """Return the longest directory that contains all files matching a pattern; ``.`` is the top."""
    if not leads_out(pattern) and "\n" not in directory:  # As nearly all do: what is below is the same for each root.
        return "/".join(part for part in (directory.removeprefix("."), _literal(pattern)) if part) or "."
    _, parts, rest = _parts(directory, pattern)
    return "/".join(part for part in (*parts, _literal(rest)) if part) or "."


@lru_cache(1000)
def _literal(pattern: str) -> str:
    """Return the directories that a pattern inside some directory begins with, as far as they are plain names."""
    parts = itertools.takewhile(lambda part: not _SPECIAL.search(part), _parts(".", pattern)[2].split("/")[:-1])
    return "/".join(part for part in parts if part)


def _parts(directory: str, pattern: str) -> tuple[str, list[str], str]:
    """Return the sign of a pattern, the directory that it is relative to, by its parts, and the rest of it."""
    negation = "!" if pattern.startswith("!") else ""
    rest = pattern.removeprefix("!").removeprefix("./")
    parts = [] if directory == "." else directory.replace("\n", " ").split("/")
    if rest.startswith("/"):
        parts, rest = [], rest[1:]
    while rest.startswith(_ABOVE):
        if not parts:
            raise ValueError(f"{pattern!r} points outside of the repository")
        parts, rest = parts[:-1], rest.removeprefix(_ABOVE)
    if not rest.strip("/ ") or ".." in rest.split("/"):
        raise ValueError(f"{pattern!r} matches no file")
    return negation, parts, rest

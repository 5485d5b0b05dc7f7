"""What a tag query is made of, and what it is asked about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tidegate.domain.root import Root

_Item = TypeVar("_Item")

_DIRECTORY, _LEGACY_IN = "dir:", "dir~"
#: What tags of Tidegate's own begin with: nobody else's may.
RESERVED = ("dir:", "dir~", "workspace:", "name:", "stack_name:", "stack:", "branch:", "dest_branch:", "relative_dir:")


@dataclass(frozen=True, slots=True)
class Tagged:
    """Something with tags, in a directory: ``.`` is the repository's top."""

    directory: str
    tags: frozenset[str]


def tagged(root: Root, tags: Iterable[str] = ()) -> Tagged:
    """Return a root with its own tags and those that every root has: directory, workspace and name."""
    own = (f"dir:{root.dir}", f"workspace:{root.workspace}", f"name:{root.name}")
    return Tagged(root.dir, frozenset((*tags, *own)))


class Term(Protocol):
    """A part of a query."""

    def matches(self, tagged: Tagged) -> bool:
        """Tell whether it is true for something."""
        ...


@dataclass(frozen=True, slots=True)
class Tag:
    """True for what has exactly this tag."""

    name: str

    def matches(self, tagged: Tagged) -> bool:
        return self.name in tagged.tags


@dataclass(frozen=True, slots=True)
class Directories:
    """True in directories that fit a pattern: ``*`` and ``?`` stand within a segment, ``**`` for any segments."""

    pattern: str

    def matches(self, tagged: Tagged) -> bool:
        return _fits(_segments(self.pattern), _segments(tagged.directory), "**", _segment_fits)


@dataclass(frozen=True, slots=True)
class InDirectory:
    """True where these segments follow each other in the directory's path."""

    path: str

    def matches(self, tagged: Tagged) -> bool:
        wanted = self.path.strip("/")
        return bool(wanted) and f"/{wanted}/" in f"/{tagged.directory}/"


@dataclass(frozen=True, slots=True)
class Not:
    """True where a term is not."""

    term: Term

    def matches(self, tagged: Tagged) -> bool:
        return not self.term.matches(tagged)


@dataclass(frozen=True, slots=True)
class All:
    """True where all of its terms are; without any, everywhere."""

    terms: tuple[Term, ...]

    def matches(self, tagged: Tagged) -> bool:
        return all(term.matches(tagged) for term in self.terms)


@dataclass(frozen=True, slots=True)
class Any:
    """True where one of its terms is."""

    terms: tuple[Term, ...]

    def matches(self, tagged: Tagged) -> bool:
        return any(term.matches(tagged) for term in self.terms)


def tag_term(text: str, *, quoted: bool) -> Term:
    """Return what a tag of a query stands for: without quotes, ``dir:`` may have wildcards."""
    if not quoted and text.startswith(_LEGACY_IN):
        return InDirectory(text.removeprefix(_LEGACY_IN))
    if not quoted and text.startswith(_DIRECTORY) and re.search(r"[*?]", text):
        return Directories(text.removeprefix(_DIRECTORY))
    return Tag(text)


def _segments(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]


def _segment_fits(pattern: str, segment: str) -> bool:
    return _fits(pattern, segment, "*", lambda wanted, given: wanted in {"?", given})


def _fits(pattern: Sequence[_Item], items: Sequence[_Item], many: _Item, same: Callable[[_Item, _Item], bool]) -> bool:
    """Tell whether items fit a pattern in which ``many`` stands for any number of them.

    Only the last ``many`` is ever tried again, so that no pattern takes longer than its length times the items.
    """
    at = place = resumed = 0
    after: int | None = None
    while place < len(items):
        if at < len(pattern) and pattern[at] == many:
            at, resumed = at + 1, place
            after = at
        elif at < len(pattern) and same(pattern[at], items[place]):
            at, place = at + 1, place + 1
        elif after is not None:
            resumed += 1
            at, place = after, resumed
        else:
            return False
    return all(each == many for each in pattern[at:])

"""The terms of a tag query, and what they are evaluated on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from posixpath import normpath
from typing import TypeAlias, TypeVar

from tidegate.roots.rules.root import Root

_Item = TypeVar("_Item")

_DIRECTORY, _LEGACY_IN = "dir:", "dir~"
#: What the tag of a directory begins with that is told from another one.
RELATIVE = "relative_dir:"
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
        return directory_fits(self.pattern, tagged.directory)

    @property
    def within(self) -> str:
        """The directory that all which fit are, or lie in, as far as it has no wildcards: ``.`` for any."""
        return _pattern(self.pattern)[0].strip("/") or "."


@dataclass(frozen=True, slots=True)
class InDirectory:
    """True where these segments follow each other in the directory's path."""

    path: str

    def matches(self, tagged: Tagged) -> bool:
        wanted = self.path.strip("/")
        return bool(wanted) and f"/{wanted}/" in f"/{tagged.directory}/"

    @property
    def segments(self) -> tuple[str, ...]:
        """The segments."""
        return tuple(self.path.strip("/").split("/"))


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


#: A part of a query, which tells whether it is true for something.
Term: TypeAlias = Tag | Directories | InDirectory | Not | All | Any


def tags_of(term: Term) -> Iterator[str]:
    """Return the tags that a term asks for by their names."""
    match term:
        case Tag(name):
            yield name
        case Not(inner):
            yield from tags_of(inner)
        case All(terms) | Any(terms):
            for each in terms:
                yield from tags_of(each)


def placed(term: Term, directory: str) -> Term:
    """Return a term in which directories that are told from ``directory`` are told from the repository's top."""
    match term:
        case Tag(name) if name.startswith(RELATIVE):
            path = normpath(f"{directory}/{name.removeprefix(RELATIVE)}")
            return term if f"{path}/".startswith("../") else Tag(f"{_DIRECTORY}{path}")
        case Not(inner):
            return Not(placed(inner, directory))
        case All(terms):
            return All(tuple(placed(each, directory) for each in terms))
        case Any(terms):
            return Any(tuple(placed(each, directory) for each in terms))
        case _:
            return term


def spelled(term: Term) -> str:
    """Return a query that says what a term does."""
    match term:
        case Tag(name):
            return _in_quotes(name)
        case Directories(pattern):
            return f"{_DIRECTORY}{pattern}"
        case InDirectory(path):
            return f"{_in_quotes(path)} in dir"
        case Not(inner):
            return f"not ({spelled(inner)})"
        case All(terms):
            return " and ".join(f"({spelled(each)})" for each in terms)
        case _:
            return " or ".join(f"({spelled(each)})" for each in term.terms)


def _in_quotes(tag: str) -> str:
    return "'" + re.sub(r"([\\'])", r"\\\1", tag) + "'"


def tag_term(text: str, *, quoted: bool) -> Term:
    """Return what a tag of a query stands for: without quotes, ``dir:`` may have wildcards."""
    if not quoted and text.startswith(_LEGACY_IN):
        return InDirectory(text.removeprefix(_LEGACY_IN))
    if not quoted and text.startswith(_DIRECTORY) and re.search(r"[*?]", text):
        return Directories(text.removeprefix(_DIRECTORY))
    return Tag(text)


def directory_fits(pattern: str, directory: str) -> bool:
    """Tell whether a directory fits a pattern: ``*`` and ``?`` stand within a segment, ``**`` for any segments."""
    prefix, literal, rest = _pattern(pattern)
    path = "/" if directory == "." else f"/{directory}/"
    if not path.startswith(prefix) or literal not in path:
        return False
    return rest == ["**"] or _fits(rest, _segments(path[len(prefix) :]), "**", _segment_fits)


@lru_cache(maxsize=4096)
def _pattern(pattern: str) -> tuple[str, str, list[str]]:
    """Return what paths begin with that fit, what else occurs in them, and the pattern of what follows the first."""
    segments = _segments(pattern)
    leading = list(takewhile(_is_literal, segments))
    rest = segments[len(leading) :]
    return "/".join(["", *leading, ""]), next(filter(_is_literal, rest), ""), rest


def _is_literal(segment: str) -> bool:
    return not re.search(r"[*?]", segment)


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

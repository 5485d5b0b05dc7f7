"""Find what matches tag queries among many things, without checking each of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import accumulate

from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import All, Any, Directories, InDirectory, Tag, Tagged, Term


class TagIndex:
    """Many things with tags. Only those are asked that have a tag, or a place, which the query cannot do without."""

    def __init__(self, items: Sequence[Tagged]) -> None:
        self._items = items
        self._found: dict[str, tuple[int, ...]] = {}

    @cached_property
    def _by_tag(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for position, item in enumerate(self._items):
            for tag in item.tags:
                found.setdefault(tag, []).append(position)
        return found

    @cached_property
    def _by_directory(self) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """What is in each directory or below, and what has each segment in its path."""
        below: dict[str, list[int]] = {}
        having: dict[str, list[int]] = {}
        for position, item in enumerate(self._items):
            segments = item.directory.split("/")
            for path in accumulate(segments, "{}/{}".format):
                below.setdefault(path, []).append(position)
            for segment in dict.fromkeys(segments):
                having.setdefault(segment, []).append(position)
        return below, having

    def matching(self, query: TagQuery) -> tuple[int, ...]:
        """Return the positions of the things that the query is true for, in order."""
        if query.text not in self._found:
            possible = self._possible(query.term)
            asked = range(len(self._items)) if possible is None else sorted(possible)
            self._found[query.text] = tuple(each for each in asked if query.matches(self._items[each]))
        return self._found[query.text]

    def _possible(self, term: Term) -> Collection[int] | None:
        """Return what a term may be true for; None is for everything."""
        match term:
            case Tag(name):
                return self._by_tag.get(name, ())
            case Directories():
                return None if term.within == "." else self._by_directory[0].get(term.within, ())
            case InDirectory():
                by_segment = self._by_directory[1]
                return min((by_segment.get(segment, ()) for segment in term.segments), key=len)
            case All(terms):
                known = [found for found in map(self._possible, terms) if found is not None]
                return min(known, key=len, default=None)
            case Any(terms):
                choices = [found for found in map(self._possible, terms) if found is not None]
                return set().union(*choices) if len(choices) == len(terms) else None
            case _:
                return None

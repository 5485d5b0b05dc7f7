"""Symbolic links of a repository: their targets, and the paths that reach a file through them."""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Iterator, Mapping

from tidegate.rules.errors import InvalidConfiguration

#: Links that one path may lead through, and letters of a link, as on Linux.
_MOST_LINKS, _LONGEST = 40, 4095
#: Letters of all links that are followed for a commit, those on the way included: far more than any repository has.
_MOST_LETTERS = 10_000_000


class LeadsOut(Exception):
    """A link leads out of the repository."""


class Links:
    """The links of a commit, by path, each with its text."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = dict(texts or {})
        self._through: dict[str, list[str]] = {}
        self.outside: set[str] = set()
        letters = 0
        for link in self._texts:
            visited: set[str] = set()
            try:
                place = self._followed(link, visited)
            except LeadsOut:
                self.outside.add(link)
                continue
            letters += sum(len(self._texts[each]) for each in visited)
            if letters > _MOST_LETTERS:
                raise too_many(link, "this repository has too many symbolic links to follow")
            for each in visited | ({place} if place is not None else set()):
                if each != link:
                    self._through.setdefault(each, []).append(link)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def __contains__(self, path: str) -> bool:
        return path in self._texts

    def place(self, path: str) -> str | None:
        """Return where a path leads; None for a cycle, and for a path that leads out of the repository."""
        if not self._texts:
            return path
        try:
            return self._followed(path, set())
        except LeadsOut:
            return None

    def to(self, path: str) -> list[str]:
        """Return the links that lead to exactly this file, directly or through others."""
        return self._through.get(path, [])

    def seen_as(self, path: str) -> Iterator[str]:
        """Yield the other paths by which a file or link is reached, each link followed once."""
        if not self._through:
            return
        used: set[str] = set()
        ahead = deque([path])
        while ahead:
            one = ahead.popleft()
            for place in _at_and_above(one):
                for link in self._through.get(place, ()):
                    if link not in used and not _is_in(link, place):
                        used.add(link)
                        seen = link + (one[len(place) :] if place != "." else f"/{one}")
                        yield seen
                        ahead.append(seen)

    def _followed(self, path: str, visited: set[str]) -> str | None:
        """Return where a path leads, None in a cycle, and add the links on the way. Raise LeadsOut."""
        there: list[str] = []
        ahead = deque(path.split("/"))
        left = _MOST_LINKS
        while ahead:
            part = ahead.popleft()
            if part in {"", "."}:
                continue
            if part == "..":
                if not there:
                    raise LeadsOut(path)
                there.pop()
                continue
            there.append(part)
            text = self._texts.get("/".join(there))
            if text is None:
                continue
            left -= 1
            if left < 0:
                return None
            if text.startswith("/") or "\0" in text or len(text) > _LONGEST:
                raise LeadsOut(path)
            visited.add("/".join(there))
            there.pop()
            ahead.extendleft(reversed(text.split("/")))
        return "/".join(there) or "."


def too_many(link: str, problem: str) -> InvalidConfiguration:
    """Return the refusal of a commit whose links cost too much."""
    return InvalidConfiguration(link, 1, problem, "Use fewer or shorter symbolic links")


def _at_and_above(path: str) -> Iterator[str]:
    while path:
        yield path
        path = posixpath.dirname(path)
    yield "."


def _is_in(path: str, place: str) -> bool:
    """Tell whether a link lies in the directory that it leads to, so that it would be followed without an end."""
    return place == "." or path.startswith(f"{place}/")

"""What became of each key of another tool's file: kept, changed or dropped, and which losses need consent."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tidegate.documents.document import KEY, Document, Path

#: Keys under which people choose the names: these are no part of what ``--lossy`` is given.
_NAMED = frozenset(
    {"branch", "dest_branch", "dirs", "env", "names", "schedules", "stacks", "variables", "workflows", "workspaces"}
)


class Fate(StrEnum):
    """What became of a key."""

    KEPT = "kept"
    CHANGED = "changed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A key of the other file: its line, its name, what became of it and why.

    ``lossy`` is what ``--lossy`` must be given, as without this key more would be granted or less deployed than before.
    """

    line: int
    key: str
    fate: Fate
    text: str = ""
    lossy: str = ""


@dataclass(slots=True)
class Ledger:
    """What is known of the keys of a document. What is kept or dropped is that with all that is in it."""

    document: Document
    _said: dict[Path, list[tuple[Fate, str, str]]] = field(default_factory=dict)

    def kept(self, path: Path) -> None:
        """Remember that a key means the same."""
        self._say(path, Fate.KEPT, "")

    def changed(self, path: Path, text: str) -> None:
        """Remember what became of a key."""
        self._say(path, Fate.CHANGED, text)

    def dropped(self, path: Path, text: str) -> None:
        """Remember why a key is not needed: nothing is granted, and nothing less deployed, without it."""
        self._say(path, Fate.DROPPED, text)

    def lost(self, path: Path, text: str, name: str = "") -> None:
        """Remember that a key cannot be carried over, which somebody must agree to by its ``name``."""
        self._say(path, Fate.DROPPED, text, name or plain_name(path) or "file")

    def line(self, path: Path) -> int:
        """Return the line of a key, or of what it stands in."""
        while path:
            for each in ((*path, KEY), path):
                if each in self.document.places:
                    return self.document.places[each][0]
            path = path[:-1]
        return 1

    def lossy(self, agreed: Collection[str] = ()) -> list[Entry]:
        """Return what somebody must agree to, without what is agreed to by its name or by that of what it is in."""
        return [each for each in self.entries() if each.lossy and not covered(each.lossy, agreed)]

    def entries(self) -> list[Entry]:
        """Return what became of every key, in the order of the lines. Without a text it is as what it stands in."""
        said = {self._entry(path, *each) for path, all_said in self._said.items() for each in all_said if each[1]}
        told = {each.key for each in said}
        leaves = {self._entry(path, *self._of(path)) for path in _leaves(self.document.content, ())}
        return sorted(said | {each for each in leaves if each.text or each.key not in told})

    def _entry(self, path: Path, fate: Fate, text: str, lossy: str) -> Entry:
        return Entry(self.line(path), ".".join(map(str, path)), fate, text, lossy)

    def _of(self, path: Path) -> tuple[Fate, str, str]:
        """Return what became of a value: dropped with what it lies in, else kept. What nobody knows is lost."""
        around = [self._said.get(path[:length], []) for length in range(len(path) + 1)]
        fates = {fate for said in around[1:] for fate, _, _ in said} | {fate for fate, _, _ in around[0]} & {Fate.KEPT}
        if Fate.DROPPED in fates:
            return Fate.DROPPED, "", ""
        if Fate.KEPT in fates or self._said.get(path):
            return Fate.KEPT, "", ""
        return Fate.DROPPED, "Tidegate does not know this key.", plain_name(path) or "file"

    def _say(self, path: Path, fate: Fate, text: str, lossy: str = "") -> None:
        said = self._said.setdefault(path, [])
        if (fate, text, lossy) not in said:
            said.append((fate, text, lossy))


def plain_name(path: Path) -> str:
    """Return a path without numbers of lists and without names that people chose."""
    words = [
        part
        for number, part in enumerate(path)
        if isinstance(part, str) and not (number and path[number - 1] in _NAMED and len(path) > number + 1)
    ]
    return ".".join(words)


def covered(name: str, agreed: Collection[str]) -> bool:
    """Tell whether a name, or that of something which it lies in, is one of those."""
    return any(name == each or name.startswith(f"{each}.") for each in agreed)


def _leaves(value: Any, path: Path) -> Iterator[Path]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items or not value:
        yield path
        return
    for key, item in items:
        yield from _leaves(item, (*path, key))

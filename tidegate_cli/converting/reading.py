"""Read a document key by key: read keys are kept unless reported otherwise; unread ones are reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.documents.document import Path
from tidegate.rules.errors import InvalidConfiguration
from tidegate_cli.converting.ledger import Ledger


@dataclass(slots=True)
class Section:
    """A mapping of the document, of the tool ``tool``."""

    ledger: Ledger
    path: Path
    content: Mapping[str, Any]
    tool: str
    #: What names of lost keys begin with, where the path says less.
    noun: str = ""
    _read: set[str] = field(default_factory=set)

    def __contains__(self, key: str) -> bool:
        return self.content.get(key) is not None

    def at(self, key: str) -> Path:
        """Return the path of a key."""
        return (*self.path, key)

    def value(self, key: str) -> Any:
        """Return what stands at a key, which is kept with all in it; None if nothing does."""
        if key in self.content:
            self.ledger.kept(self.at(key))
        return self.raw(key)

    def raw(self, key: str) -> Any:
        """Return what stands at a key, of which what is in it is still to be read."""
        self._read.add(key)
        found = self.content.get(key)
        if key in self.content and not found:
            self.ledger.kept(self.at(key))
        return found

    def text(self, key: str, default: str = "") -> str:
        """Return a text. Raise InvalidConfiguration."""
        found = self.value(key)
        if not isinstance(found, str | None):
            raise self.misshapen(key, "a text")
        return found or default

    def flag(self, key: str) -> bool | None:
        """Return whether something is so; None where nothing is said. Raise InvalidConfiguration."""
        found = self.text(key).lower()
        if found not in {"", "true", "false", "yes", "no", "on", "off"}:
            raise self.misshapen(key, "true or false")
        return found in {"true", "yes", "on"} if found else None

    def texts(self, key: str) -> list[str] | None:
        """Return a list of strings; None where there is none. Raise InvalidConfiguration."""
        found = self.value(key)
        if isinstance(found, str):
            return [found]
        if not isinstance(found, list | None) or any(not isinstance(each, str) for each in found or ()):
            raise self.misshapen(key, "a list of strings")
        return found

    def section(self, key: str) -> Section:
        """Return a mapping, empty where there is none. Raise InvalidConfiguration."""
        found = self.raw(key)
        if not isinstance(found, dict | None):
            raise self.misshapen(key, "a mapping")
        return Section(self.ledger, self.at(key), found or {}, self.tool, self._noun(key))

    def sections(self, key: str) -> list[Section]:
        """Return a list of mappings, empty where there is none. Raise InvalidConfiguration."""
        found = self.raw(key)
        if not isinstance(found, list | None) or any(not isinstance(each, dict) for each in found or ()):
            raise self.misshapen(key, "a list of mappings")
        noun = self._noun(key)
        return [Section(self.ledger, (*self.at(key), n), each, self.tool, noun) for n, each in enumerate(found or ())]

    def _noun(self, key: str) -> str:
        return f"{self.noun}.{key}" if self.noun else ""

    def named(self, key: str) -> dict[str, Section]:
        """Return mappings by their names. Raise InvalidConfiguration."""
        outer = self.section(key)
        return {name: outer.section(name) for name in outer.content}

    def without(self, why: Mapping[str, str]) -> None:
        """Drop what is not needed, by key, with why that is so."""
        for key in self.content.keys() & why.keys():
            self._read.add(key)
            self.ledger.dropped(self.at(key), f"{key}: {why[key]}.")

    def rest(self, why: Mapping[str, str] | None = None) -> None:
        """Tell what was not read: somebody must agree to lose it."""
        for key in self.unread():
            text = (why or {}).get(key, "Tidegate has no equivalent")
            self.lost(key, f"{key}: {text}.")

    def lost(self, key: str, text: str) -> None:
        """Tell that a key cannot be carried over."""
        self.ledger.lost(self.at(key), text, f"{self.noun}.{key}" if self.noun else "")

    def unread(self) -> Iterator[str]:
        """Yield the keys that were not read."""
        yield from [key for key in self.content if key not in self._read]

    def misshapen(self, key: str, wanted: str) -> InvalidConfiguration:
        """Return the refusal of what stands where the other tool has something else: it would mean nothing here."""
        where = ".".join(map(str, self.at(key)))
        return self.ledger.document.refusal(self.at(key), f"{where} cannot be read", f"{self.tool} has {wanted} here")

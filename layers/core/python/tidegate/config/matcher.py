"""Which roots a change affects, by their file patterns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.config.patterns import literal_directory, root_patterns
from tidegate.roots.rules.discovery import directories_above


class PatternIndex:
    """The patterns of many roots. A root is only checked against files below its patterns' directories."""

    def __init__(self) -> None:
        self._below: dict[str, list[str]] = {}
        self._patterns: dict[str, tuple[str, Sequence[str]]] = {}

    def add(self, name: str, directory: str, patterns: Sequence[str]) -> None:
        """Add a root: its name, its directory, and its patterns."""
        self._patterns[name] = directory, patterns
        for place in {literal_directory(directory, each) for each in patterns if not each.startswith("!")}:
            self._below.setdefault(place, []).append(name)

    def concerned(self, paths: Iterable[str]) -> set[str]:
        """Return the names of the roots with a pattern that matches one of the paths."""
        near: dict[str, list[str]] = {}
        for path in paths:
            for place in directories_above(path.replace("\n", " ")):
                for name in self._below.get(place, ()):
                    near.setdefault(name, []).append(path)
        return {name for name, below in near.items() if self._concerns(name, below)}

    def _concerns(self, name: str, paths: Iterable[str]) -> bool:
        patterns = root_patterns(*self._patterns[name])
        return any(patterns.match(path) for path in paths)

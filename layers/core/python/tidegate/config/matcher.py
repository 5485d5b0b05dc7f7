"""Which declared roots a change concerns."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidegate.config.loader import DeclaredRoot
from tidegate.config.patterns import matches, root_patterns


def changed_roots(declared: Iterable[DeclaredRoot], paths: Collection[str]) -> list[DeclaredRoot]:
    """Return the declared roots that have a pattern for one of the changed ``paths``, in their order."""
    return [root for root in declared if _concerns(root, paths)]


def _concerns(declared: DeclaredRoot, paths: Collection[str]) -> bool:
    patterns = root_patterns(declared.root.dir, declared.when_modified)
    return any(matches(patterns, path) for path in paths)

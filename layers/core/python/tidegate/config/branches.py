"""Which branches changes may target."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from tidegate.config.declarations import DestinationBranch


def may_go(destinations: Collection[DestinationBranch], source: str, destination: str) -> bool:
    """Tell whether changes of ``source`` may go to ``destination`` by one of these; case does not matter."""
    fitting = (each for each in destinations if _fits(each.branch, destination))
    return any(_comes_from(each.sources, source) for each in fitting)


def _comes_from(sources: Collection[str], source: str) -> bool:
    excluded = any(_fits(each[1:], source) for each in sources if each.startswith("!"))
    return not excluded and any(_fits(each, source) for each in sources if not each.startswith("!"))


def _fits(pattern: str, branch: str) -> bool:
    return fnmatchcase(branch.lower(), pattern.lower())

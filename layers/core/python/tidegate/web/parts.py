"""Links of pages, and the refusal of an unknown root."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.ports import ForgeUrls, Ports
from tidegate.vcs.rules.forge_terms import GITHUB_TERMS, ForgeTerms
from tidegate.web.refusals import UnknownRoot

#: Roots whose names are compared with one that is unknown.
_MOST_NAMES = 500


@dataclass(frozen=True, slots=True)
class WebLinks:
    """Where more is to be seen: on the forge, and an execution's URL with ``{deployment}`` in it; and its terms.

    Pages show pictures of accounts from one origin only: the VCS provider's.
    """

    forge: ForgeUrls
    execution: str = ""
    terms: ForgeTerms = GITHUB_TERMS


def unknown_root(ports: Ports, repository: str, root: str) -> UnknownRoot:
    """Return the refusal of a root that a repository does not have; one read finds the nearest name."""
    known = ports.repository_index.some_roots(repository, _MOST_NAMES)
    return UnknownRoot(root, [head.root_name for head in known.heads])

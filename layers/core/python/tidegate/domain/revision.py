"""May this revision be deployed after the one that was deployed last?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidegate.domain.queue import Deployed
from tidegate.domain.root import Revision


class Comparison(StrEnum):
    """How a commit relates to the one deployed last; the first four are the forge's words."""

    AHEAD = "ahead"
    IDENTICAL = "identical"
    BEHIND = "behind"
    DIVERGED = "diverged"
    BASE_MISSING = "base missing"
    HEAD_MISSING = "head missing"


#: What these undo, a person confirms first.
_CONFIRMED_FIRST = frozenset({Comparison.DIVERGED, Comparison.BASE_MISSING})


@dataclass(frozen=True, slots=True)
class RevisionVerdict:
    """Whether to deploy, why, and what a person must confirm first, if anything."""

    allowed: bool
    reason: str
    must_review: str | None = None


def judge_revision(revision: Revision, deployed: Deployed | None, comparison: Comparison | None) -> RevisionVerdict:
    """Decide about ``revision`` (design rule 4, never backwards).

    ``comparison`` may be None only when nothing was deployed before. Raise ValueError otherwise.
    """
    if deployed is None:
        return RevisionVerdict(True, "Nothing was deployed to this root before.")
    if comparison is None:
        raise ValueError(f"{revision.sha} was not compared with {deployed.revision.sha}")
    last = deployed.revision.short
    allowed, reason = {
        Comparison.AHEAD: (True, f"It is ahead of {last}, the revision deployed last."),
        Comparison.IDENTICAL: (True, f"It is {last}, the revision deployed last."),
        Comparison.BEHIND: (
            False,
            (
                f"It is behind {last}, which is deployed already, and deployments never go backwards. "
                "To go back, revert on the default branch and merge that."
            ),
        ),
        Comparison.HEAD_MISSING: (
            False,
            "The commit does not exist on the forge any more. Push it again to deploy it.",
        ),
        Comparison.DIVERGED: (
            True,
            f"It has diverged from {last}, the revision deployed last: what only {last} has will be undone.",
        ),
        Comparison.BASE_MISSING: (
            True,
            f"The revision deployed last, {last}, does not exist on the forge any more: what it had may be undone.",
        ),
    }[comparison]
    return RevisionVerdict(allowed, reason, reason if comparison in _CONFIRMED_FIRST else None)

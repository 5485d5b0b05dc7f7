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
    match comparison:
        case Comparison.AHEAD:
            return RevisionVerdict(True, f"It is ahead of {last}, the revision deployed last.")
        case Comparison.IDENTICAL:
            return RevisionVerdict(True, f"It is {last}, the revision deployed last.")
        case Comparison.BEHIND:
            return RevisionVerdict(
                False,
                f"It is behind {last}, which is deployed already, and deployments never go backwards. "
                "To go back, revert on the default branch and merge that.",
            )
        case Comparison.HEAD_MISSING:
            return RevisionVerdict(
                False, "The commit does not exist on the forge any more. Push it again to deploy it."
            )
        case Comparison.DIVERGED:
            must = f"It has diverged from {last}, the revision deployed last: what only {last} has will be undone."
            return RevisionVerdict(True, must, must)
        case Comparison.BASE_MISSING:
            must = f"The revision deployed last, {last}, is gone from the forge: what it had may be undone."
            return RevisionVerdict(True, must, must)

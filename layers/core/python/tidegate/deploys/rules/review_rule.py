"""Who must review the plans of a root before they are applied."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PlanReview(StrEnum):
    """Which plans with changes wait for people.

    ``MANUAL``: only those of manual deployments, and those whose revision itself requires a review, such as a diverged
    one. ``NEVER``: only those whose revision requires it.
    """

    ALWAYS = "always"
    MANUAL = "manual"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class ReviewRule:
    """The rule of a root: which plans wait, for how many people, and whether the change's authors count.

    ``protected``: plans that destroy something wait for people, who approve that explicitly.
    """

    when: PlanReview = PlanReview.ALWAYS
    approvals: int = 1
    exclude_authors: bool = False
    protected: bool = False

    def and_also(self, other: ReviewRule) -> ReviewRule:
        """Return the rule under which every plan waits that waits under either rule."""
        strictness = list(PlanReview)[::-1]
        return ReviewRule(
            max(self.when, other.when, key=strictness.index),
            max(self.approvals, other.approvals),
            self.exclude_authors or other.exclude_authors,
            self.protected or other.protected,
        )

"""A pull request, as far as deploys by hand look at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tidegate.vcs.rules.authors import Authors


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request of a repository. What is ``merged`` is not open any more.

    ``from_fork`` tells that its head is in another repository. ``mergeable`` is None while the forge does
    not know. ``failing_checks`` are the names of checks and statuses on its head that failed or still run,
    Tidegate's own left out. ``lacks`` is the base branch's newest commit if the head does not contain it, ``made_by``
    who made its commits, and ``base_since`` when it was pointed at its base branch, if it went to another one before:
    where somebody looked.
    """

    number: int
    head_sha: str
    head_branch: str
    base_branch: str
    author: str
    is_open: bool
    from_fork: bool
    mergeable: bool | None = None
    failing_checks: tuple[str, ...] = ()
    lacks: str = ""
    made_by: Authors = field(default_factory=Authors)
    base_since: str = ""
    merged: bool = False


class ReviewVerdict(StrEnum):
    """What a person said in a review of a pull request, in the forge's words."""

    APPROVED = "APPROVED"
    CHANGES_REQUESTED = "CHANGES_REQUESTED"
    COMMENTED = "COMMENTED"
    DISMISSED = "DISMISSED"


@dataclass(frozen=True, slots=True)
class PullRequestReview:
    """One review: by whom, what was said, of which commit, and when (ISO 8601 in UTC). ``id`` is the forge's, or 0."""

    by: str
    verdict: ReviewVerdict
    sha: str
    at: str
    id: int = 0

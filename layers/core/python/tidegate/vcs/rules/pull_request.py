"""A pull request for manual deploys."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pushers import HeadPush


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request of a repository. A ``merged`` one is not open any more.

    ``from_fork`` tells that its head is in another repository. ``mergeable`` is None while the VCS provider computes
    it. ``failing_checks`` are the names of failed or running checks and statuses on its head, without Tidegate's own.
    These are only set if they were read: ``lacks``, the base branch's newest commit if the head does not contain it,
    ``made_by``, who made its commits, and ``base_since``, when its base branch was changed, if it was.
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
    base_since: datetime | None = None
    merged: bool = False


class ReviewVerdict(StrEnum):
    """What a person said in a review of a pull request, in the forge's words."""

    APPROVED = "APPROVED"
    CHANGES_REQUESTED = "CHANGES_REQUESTED"
    COMMENTED = "COMMENTED"
    DISMISSED = "DISMISSED"


@dataclass(frozen=True, slots=True)
class PullRequestReview:
    """One review: by whom, what was said, of which commit, and when. ``id`` is the forge's, or 0."""

    by: str
    verdict: ReviewVerdict
    sha: str
    at: datetime | None
    id: int = 0


@dataclass(frozen=True, slots=True)
class PullRequestSpec:
    """A pull request's data. ``head_sha`` and ``base_sha`` are the newest known commits of both branches.

    ``base_since`` is when it was seen first to go to another ``base`` than before, None if it never was. ``pushes``
    are those that moved its head, as far as they were told of.
    """

    repository: str
    number: int
    branch: str
    base: str
    head_sha: str
    base_sha: str
    author: str
    title: str = ""
    is_draft: bool = False
    from_fork: bool = False
    base_since: datetime | None = None
    pushes: tuple[HeadPush, ...] = ()
    #: The URL of the author's picture; empty if there is none.
    avatar: str = ""

    @property
    def id(self) -> str:
        """Its id everywhere: ``OWNER/REPO#NUMBER``."""
        return f"{self.repository}#{self.number}"

    @property
    def revision(self) -> str:
        """The subject of one execution: the head, and what it is merged with."""
        return f"{self.head_sha}+{self.base_sha}"


@dataclass(frozen=True, slots=True)
class SeenPullRequest:
    """A pull request as the forge has it at one moment.

    ``spec.base_sha`` may be an older commit of the base branch. ``merge_sha`` is the newest commit that its merge added
    to the base branch, empty unless it is merged.
    """

    spec: PullRequestSpec
    is_open: bool
    merged: bool
    opened_at: datetime
    merge_sha: str = ""


class MergeMethod(StrEnum):
    """A merge method, in the VCS provider's words."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"

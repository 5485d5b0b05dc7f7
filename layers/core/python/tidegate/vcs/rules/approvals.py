"""Whose approvals of a pull request count: those of its head and base branch, by people who did not contribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tidegate.rules.timestamp import LONG_AGO
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.pull_request import PullRequestReview, ReviewVerdict

#: What is not known where the forge told no more.
_ALL = "the authors and pushers of all of its commits"
_PERSON = "user:"


@dataclass(frozen=True, slots=True)
class ToApprove:
    """What is to be approved: a head, and its base branch.

    ``base_since`` is when the pull request was pointed at that branch, None if it always was.
    ``author`` opened it, ``made_by`` are those who made or pushed its commits: theirs do not count.
    """

    head: str
    author: str
    base: str = ""
    base_since: datetime | None = None
    made_by: Authors = field(default_factory=Authors)


@dataclass(frozen=True, slots=True)
class Disregarded:
    """An approval that does not count, with the reason as a continuation of the name."""

    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Approvals:
    """The approvals of a head that count, and those that do not.

    ``made_by`` tells whether all authors of its commits are known; otherwise one of the approvals may be by an author.
    """

    of_head: tuple[str, ...] = ()
    disregarded: tuple[Disregarded, ...] = ()
    made_by: Authors = field(default_factory=Authors)

    @property
    def besides(self) -> int:
        """How many approvals are needed in addition to the configured number."""
        return 0 if self.made_by.known else 1


def why_more(made_by: Authors, whom: Sequence[str], needed: int) -> str:
    """Return why an additional approval is needed, and what to do, in Markdown.

    ``whom`` are the grantees whose approvals count, ``needed`` of which are needed.
    """
    gaps = ", ".join(made_by.gaps) or _ALL
    advice = "The author adds the email address to an account at the VCS provider, or commits and pushes again."
    return (
        f"One more approval than configured is needed, because these authors are unknown: {gaps}. "
        f"{advice}{_too_short(whom, needed)}"
    )


def _too_short(whom: Sequence[str], needed: int) -> str:
    """Return that so many people are not named, where only single ones are."""
    people = {each.casefold() for each in whom}
    if not people or len(people) >= needed or not all(each.startswith(_PERSON) for each in people):
        return ""
    return f" {needed} people must approve, but only {len(people)} can. Add more in tidegate.yaml."


def approvals(reviews: Sequence[PullRequestReview], wanted: ToApprove) -> Approvals:
    """Return who approves the head by their latest verdict. ``reviews`` are the oldest first.

    A plain comment keeps an earlier verdict, as at the VCS provider.
    """
    reasons = [(review, _reason(review, wanted)) for review in _approving(reviews)]
    return Approvals(
        tuple(review.by for review, reason in reasons if not reason),
        tuple(Disregarded(review.by, reason) for review, reason in reasons if reason),
        wanted.made_by,
    )


def outdated(reviews: Sequence[PullRequestReview], wanted: ToApprove) -> tuple[PullRequestReview, ...]:
    """Return latest verdicts that approve other commits or another base branch."""
    approving = _approving(reviews)
    return tuple(each for each in approving if _is_older(each, wanted) and not _is(each.by, wanted.author))


def is_of_other_base(review: PullRequestReview, wanted: ToApprove) -> bool:
    """Tell whether a review is older than the change of the base branch. VCS providers use whole seconds."""
    if not wanted.base_since:
        return False
    since = wanted.base_since.replace(microsecond=0)
    return (review.at or LONG_AGO) < since


def _approving(reviews: Sequence[PullRequestReview]) -> list[PullRequestReview]:
    latest: dict[str, PullRequestReview] = {}
    for review in reviews:
        if review.verdict is not ReviewVerdict.COMMENTED:
            latest[review.by.casefold()] = review
    return [review for review in latest.values() if review.verdict is ReviewVerdict.APPROVED]


def _reason(review: PullRequestReview, wanted: ToApprove) -> str:
    if _is(review.by, wanted.author):
        return "is the author"
    if any(_is(review.by, each) for each in wanted.made_by.logins):
        return "made or pushed one of the commits"
    if review.sha != wanted.head:
        return f"approved {review.sha[:7]}, which is no longer the head"
    if is_of_other_base(review, wanted):
        return f"approved it before its base branch became {wanted.base}"
    return ""


def _is_older(review: PullRequestReview, wanted: ToApprove) -> bool:
    return review.sha != wanted.head or is_of_other_base(review, wanted)


def _is(login: str, other: str) -> bool:
    return login.casefold() == other.casefold()

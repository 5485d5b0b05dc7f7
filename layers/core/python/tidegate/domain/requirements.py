"""What a pull request must fulfil before its head is deployed by hand, and what is told when it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.domain.markdown import code
from tidegate.domain.permission import Permission
from tidegate.domain.pull_request import PullRequest, PullRequestReview, ReviewVerdict

#: Failing checks that a reply names; who wants to know all of them looks at the pull request.
_NAMED = 10
_UNMATCHED = (
    "No check of `apply_requirements` matches, so nobody said what is required. "
    "Add a last check with `tag_query: ''`, which matches every root, on the default branch."
)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What is configured: how many approvals (0: none), and whether conflicts and failing checks hold up.

    ``approvals`` count those by people whom one of ``any_of`` means, by anybody where it is empty; each of ``all_of``
    must mean one of those who approved. They are written as in access control: ``user:``, ``team:``, ``role:``.
    Checks whose name fits one of ``ignore_matching``, globs, do not hold up.
    """

    approvals: int = 0
    mergeable: bool = False
    checks: bool = False
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    ignore_matching: tuple[str, ...] = ()

    def and_also(self, other: Requirements) -> Requirements:
        """Return what holds up whatever one of two holds up."""
        return Requirements(
            max(self.approvals, other.approvals), self.mergeable or other.mergeable, self.checks or other.checks
        )


@dataclass(frozen=True, slots=True)
class Missing:
    """What a deploy by hand lacks, a sentence in Markdown for each.

    ``always`` cannot be passed over; ``configured`` can be, by force.
    """

    always: tuple[str, ...] = ()
    configured: tuple[str, ...] = ()


def missing_requirements(
    pull_request: PullRequest,
    reviews: Sequence[PullRequestReview],
    requirements: Requirements,
    permission: Permission,
    user: str,
) -> Missing:
    """Return what a deploy of the pull request's head by ``user`` lacks. ``reviews`` are the oldest first."""
    return Missing(
        always=tuple(_always(pull_request, permission, user)),
        configured=tuple(_configured(pull_request, reviews, requirements)),
    )


def missing_by_root(
    pull_request: PullRequest,
    reviews: Sequence[PullRequestReview],
    wanted: Mapping[str, Requirements | None],
) -> tuple[str, ...]:
    """Return what deploys of roots lack: a sentence in Markdown for each lack, after the names of its roots.

    A root without requirements, None, is one that no check matches.
    """
    lacking: dict[str, list[str]] = {}
    for name, requirements in wanted.items():
        sentences = [_UNMATCHED] if requirements is None else _configured(pull_request, reviews, requirements)
        for sentence in sentences:
            lacking.setdefault(sentence, []).append(name)
    return tuple(f"{_roots(names)}: {sentence}" for sentence, names in lacking.items())


def approvers(pull_request: PullRequest, reviews: Sequence[PullRequestReview]) -> list[str]:
    """Return who approves the pull request's head: by each person's latest verdict, the author left out."""
    latest: dict[str, PullRequestReview] = {}
    for review in reviews:
        # A mere comment leaves an earlier verdict as it is, as it does on the forge.
        if review.verdict is not ReviewVerdict.COMMENTED:
            latest[review.by] = review
    return [
        by
        for by, review in latest.items()
        if review.verdict is ReviewVerdict.APPROVED
        and review.sha == pull_request.head_sha
        and by.lower() != pull_request.author.lower()
    ]


def _always(pull_request: PullRequest, permission: Permission, user: str) -> list[str]:
    missing = []
    if permission < Permission.WRITE:
        missing.append(f"{code(user)} may not write to this repository. Ask somebody who may to comment.")
    if not pull_request.is_open:
        missing.append("The pull request is closed. Reopen it, or deploy by merging.")
    if pull_request.from_fork:
        missing.append(
            "The pull request comes from a fork, and code of forks never runs with this repository's credentials. "
            "Push the branch to this repository and open a pull request from there."
        )
    return missing


def _configured(
    pull_request: PullRequest, reviews: Sequence[PullRequestReview], requirements: Requirements
) -> list[str]:
    missing = []
    given = len(approvers(pull_request, reviews))
    if given < requirements.approvals:
        asked = requirements.approvals
        missing.append(
            f"{asked} approval{'s' if asked > 1 else ''} of the current head {code(pull_request.head_sha[:7])} "
            f"{'are' if asked > 1 else 'is'} required, and there {'is' if given == 1 else 'are'} {given or 'none'}. "
            "Ask for a review by somebody who may write here. "
            "The author's own and those of earlier commits do not count."
        )
    if requirements.mergeable and pull_request.mergeable is not True:
        missing.append(_not_mergeable(pull_request))
    if requirements.checks and pull_request.failing_checks:
        missing.append(_failing(pull_request.failing_checks))
    return missing


def _not_mergeable(pull_request: PullRequest) -> str:
    if pull_request.mergeable is None:
        return "The forge does not know yet whether the branch can be merged. Comment again in a moment."
    return f"The branch has conflicts with {code(pull_request.base_branch)}. Resolve them and push."


def _roots(names: Sequence[str]) -> str:
    shown = ", ".join(code(name) for name in names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def _failing(checks: Sequence[str]) -> str:
    names = ", ".join(code(name) for name in checks[:_NAMED])
    more = f" and {len(checks) - _NAMED} more" if len(checks) > _NAMED else ""
    return f"These checks failed or have not ended: {names}{more}. Wait for them, or repair what they show."

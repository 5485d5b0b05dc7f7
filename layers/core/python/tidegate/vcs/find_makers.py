"""Find who made or pushed the commits of a pull request: their approvals do not count."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.ports import Commits, PullRequests
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.authors import UNKNOWN, Authors
from tidegate.vcs.rules.pushers import HeadPush, pushers


def pushed_by(records: PullRequests, repository: str, number: int, head: str) -> Authors:
    """Return who pushed to a pull request, up to this head."""
    found = records.many([(repository, number)])
    return pushers(found[0].spec.pushes if found else (), head)


def makers(commits: Commits, repository: str, base: str, head: str, pushes: Sequence[HeadPush]) -> Authors:
    """Return who authored, committed or pushed what ``head`` has and ``base`` (commits or branches) has not.

    The result is incomplete if the VCS provider knows no user for an email address, or a push is unknown. ``pushes``
    are known pushes of the pull request's head. Raise ForgeUnavailable and ForgeRefused.
    """
    try:
        change = commits.change(repository, base, head)
    except NotFound:
        return pushers(pushes, head).and_also(UNKNOWN)
    return change.authors.and_also(change.committers).and_also(pushers(pushes, head))

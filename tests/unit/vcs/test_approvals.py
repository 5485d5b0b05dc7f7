"""Whose approvals of a pull request count."""

from __future__ import annotations

import pytest

from tests.builders import NOW, sha
from tests.instants import utc
from tidegate.vcs.rules.approvals import (
    Approvals,
    Disregarded,
    ToApprove,
    approvals,
    is_of_other_base,
    outdated,
)
from tidegate.vcs.rules.authors import UNKNOWN, Authors
from tidegate.vcs.rules.pull_request import PullRequestReview, ReviewVerdict

HEAD, OLD = sha(3), "a" * 40
SINCE = utc("2026-03-02T08:00:00.7")


def review(by, commit=HEAD, at=NOW):
    return PullRequestReview(by, ReviewVerdict.APPROVED, commit, at)


def wanted(**fields):
    return ToApprove(HEAD, "author", "release", **fields)


def test_who_made_a_commit_does_not_approve_it():
    given = approvals([review("ANN"), review("bob")], wanted(made_by=Authors(("ann",))))
    assert given.of_head == ("bob",)
    assert given.disregarded == (Disregarded("ANN", "made or pushed one of the commits"),)
    assert given.besides == 0


def test_where_not_all_who_made_it_are_known_one_more_is_needed():
    assert approvals([review("bob")], wanted(made_by=UNKNOWN)).besides == 1


@pytest.mark.parametrize(
    ("at", "counts"),
    [
        (utc("2026-03-02T07:59:59"), False),
        (utc("2026-03-02T08:00"), True),
        (utc("2026-03-02T08:00:01"), True),
    ],
)
def test_an_approval_from_before_the_base_branch_changed_does_not_count(at, counts):
    given = approvals([review("bob", at=at)], wanted(base_since=SINCE))
    why = Disregarded("bob", "approved it before its base branch became release")
    assert given == (Approvals(("bob",)) if counts else Approvals(disregarded=(why,)))
    assert is_of_other_base(review("bob", at=at), wanted(base_since=SINCE)) is not counts
    assert not is_of_other_base(review("bob", at=at), wanted())


def test_approvals_of_other_commits_and_base_branches_are_outdated_but_for_the_authors_own():
    current, old, before = review("a"), review("b", OLD), review("c", at=utc("2026-03-01T08:00"))
    own = review("Author", OLD)
    assert outdated([current, old, before, own], wanted(base_since=SINCE)) == (old, before)
    assert outdated([current, old, before, own], wanted()) == (old,)

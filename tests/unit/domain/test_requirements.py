"""What a pull request must fulfil before its head is deployed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import sha
from tidegate.domain.permission import Permission
from tidegate.domain.pull_request import PullRequest, PullRequestReview, ReviewVerdict
from tidegate.domain.requirements import Missing, Requirements, approvers, missing_by_root, missing_requirements

HEAD, EARLIER = sha(2), sha(1)
NOTHING = Requirements()
PULL = PullRequest(5, HEAD, "feature", "main", "author", True, False, True)
A, C, N, D = (
    ReviewVerdict.APPROVED,
    ReviewVerdict.CHANGES_REQUESTED,
    ReviewVerdict.COMMENTED,
    ReviewVerdict.DISMISSED,
)


def said(*verdicts):
    """Return reviews of the head, oldest first: pairs of a login and a verdict, or a commit as well."""
    return [
        PullRequestReview(by, verdict, *(at or [HEAD]), f"2026-03-02T{n:02}")
        for n, (by, verdict, *at) in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("reviews", "approved_by"),
    [
        (said(), []),
        (said(("a", A), ("b", A)), ["a", "b"]),
        (said(("a", A), ("a", A)), ["a"]),
        (said(("a", A), ("a", C)), []),
        (said(("a", C), ("a", A)), ["a"]),
        (said(("a", A), ("a", N)), ["a"]),
        (said(("a", A), ("a", D)), []),
        (said(("author", A), ("Author", A)), []),
        (said(("a", A, EARLIER)), []),
        (said(("a", A, EARLIER), ("a", A)), ["a"]),
    ],
)
def test_the_latest_verdict_of_each_person_on_the_head_counts(reviews, approved_by):
    assert approvers(PULL, reviews) == approved_by


def missing(pull=PULL, reviews=(), requirements=NOTHING, permission=Permission.WRITE):
    return missing_requirements(pull, reviews, requirements, permission, "somebody")


def test_nothing_is_required_but_what_always_is():
    assert missing(replace(PULL, mergeable=False, failing_checks=("build",))) == Missing()
    assert missing(permission=Permission.ADMIN) == Missing()


@pytest.mark.parametrize(
    ("fields", "permission", "words"),
    [
        ({"is_open": False}, Permission.WRITE, "is closed"),
        ({"from_fork": True}, Permission.WRITE, "from a fork"),
        ({}, Permission.READ, "may not write"),
        ({}, Permission.NONE, "may not write"),
    ],
)
def test_what_is_always_required_is_named(fields, permission, words):
    (sentence,) = missing(replace(PULL, **fields), permission=permission).always
    assert words in sentence


@pytest.mark.parametrize(
    ("fields", "requirements", "words"),
    [
        ({}, Requirements(approvals=1), "1 approval of the current head `0000000` is required, and there are none."),
        ({"mergeable": False}, Requirements(mergeable=True), "conflicts with `main`"),
        ({"mergeable": None}, Requirements(mergeable=True), "does not know yet"),
        ({"failing_checks": ("a`b",)}, Requirements(checks=True), "`` a`b ``"),
    ],
)
def test_what_is_configured_and_missing_is_named(fields, requirements, words):
    (sentence,) = missing(replace(PULL, **fields), requirements=requirements).configured
    assert words in sentence


def test_what_is_configured_and_fulfilled_is_not_named():
    everything = Requirements(approvals=2, mergeable=True, checks=True)
    assert missing(reviews=said(("a", A), ("b", A)), requirements=everything) == Missing()


def test_how_many_approvals_are_there_is_told():
    (sentence,) = missing(reviews=said(("a", A)), requirements=Requirements(approvals=2)).configured
    assert sentence.startswith("2 approvals of the current head")
    assert "there is 1." in sentence
    (sentence,) = missing(reviews=said(("a", A), ("b", A)), requirements=Requirements(approvals=3)).configured
    assert "there are 2." in sentence


reviews = st.lists(st.tuples(st.sampled_from(["a", "b", "author"]), st.sampled_from([A, C, N, D])), max_size=8)


@given(reviews)
def test_nobody_counts_twice_and_the_author_never(given_reviews):
    found = approvers(PULL, said(*given_reviews))
    assert len(found) == len(set(found))
    assert "author" not in found


def test_what_roots_lack_is_told_once_for_all_that_lack_it():
    wanted = {
        "a": Requirements(approvals=1),
        "b": Requirements(approvals=1, mergeable=True),
        "c": Requirements(),
        "d": None,
    }
    told = missing_by_root(replace(PULL, mergeable=False), (), wanted)
    assert [sentence.partition(": ")[0] for sentence in told] == ["`a`, `b`", "`b`", "`d`"]
    for words, sentence in zip(("1 approval", "conflicts with", "`tag_query: ''`"), told, strict=True):
        assert words in sentence


def test_of_many_roots_that_lack_something_the_first_are_named():
    (sentence,) = missing_by_root(PULL, (), {f"root-{number:02}": None for number in range(12)})
    assert "`root-09` and 2 more: No check" in sentence


def test_requirements_together_are_what_either_asks_for():
    one, other = Requirements(2, mergeable=True), Requirements(1, checks=True)
    assert one.and_also(other) == other.and_also(one) == Requirements(2, mergeable=True, checks=True)

"""What a pull request must fulfil before its head is deployed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import sha
from tests.instants import utc
from tidegate.policies.rules.apply_requirements import (
    Requirements,
    always_missing,
    approvers,
    missing_by_root,
    missing_for_all,
)
from tidegate.rules.access import Person
from tidegate.rules.permission import Permission
from tidegate.vcs.rules.pull_request import PullRequest, PullRequestReview, ReviewVerdict

HEAD, EARLIER = sha(2), sha(1)
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
        PullRequestReview(by, verdict, *(at or [HEAD]), utc(f"2026-03-02T{n:02}"))
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
        (said(("Anna", A), ("anna", A)), ["anna"]),
    ],
)
def test_the_latest_verdict_of_each_person_on_the_head_counts(reviews, approved_by):
    assert approvers(PULL, reviews) == approved_by


def person(login, *teams, permission=Permission.WRITE):
    return Person(login, permission, frozenset(teams))


def test_only_an_open_pull_request_of_this_repository_is_deployed():
    assert always_missing(replace(PULL, mergeable=False, failing_checks=("build",))) == ()
    (closed,) = always_missing(replace(PULL, is_open=False))
    (fork,) = always_missing(replace(PULL, from_fork=True))
    assert "is closed" in closed
    assert "from a fork" in fork


@pytest.mark.parametrize(
    ("fields", "requirements", "words"),
    [
        ({}, Requirements(approvals=1), "1 approval of the current head `0000000` is required, but there are none."),
        ({"mergeable": False}, Requirements(mergeable=True), "conflicts with `main`"),
        ({"mergeable": None}, Requirements(mergeable=True), "not known yet"),
        ({"failing_checks": ("a`b",)}, Requirements(checks=True), "`` a`b ``"),
    ],
)
def test_what_is_required_and_missing_is_named(fields, requirements, words):
    (sentence,) = missing_for_all(replace(PULL, **fields), (), requirements)
    assert words in sentence


def test_what_is_not_required_is_not_missing():
    assert missing_for_all(replace(PULL, mergeable=False, failing_checks=("build",)), (), Requirements()) == ()


def test_what_is_fulfilled_is_not_missing():
    everything = Requirements(2, True, True, ("team:sre", "user:b"), ("team:dba", "role:write"), ("lint*",))
    pull = replace(PULL, failing_checks=("lint (3.11)",))
    assert missing_for_all(pull, [person("a", "sre", "dba"), person("b")], everything) == ()


class TestApprovals:
    @pytest.mark.parametrize(
        ("approving", "any_of", "count", "is_enough"),
        [
            ([person("a"), person("b")], (), 2, True),
            ([person("a"), person("b", permission=Permission.READ)], (), 2, False),
            ([person("a", "sre")], ("team:sre",), 1, True),
            ([person("a", "sre", permission=Permission.READ)], ("team:sre",), 1, True),
            ([person("a")], ("team:sre",), 1, False),
            ([person("a", "sre", "dba")], ("team:sre", "team:dba"), 2, False),
            ([person("a", "sre", "dba"), person("b", "dba")], ("team:sre", "team:dba"), 2, True),
            ([person("a"), person("b", "sre")], ("team:sre", "user:A"), 2, True),
        ],
    )
    def test_as_many_different_people_as_asked_for_must_be_among_those_who_may(
        self, approving, any_of, count, is_enough
    ):
        missing = missing_for_all(PULL, approving, Requirements(approvals=count, any_of=any_of))
        assert (not missing) is is_enough

    @pytest.mark.parametrize(
        ("approving", "unmet"),
        [
            ([], ["`team:sre`", "`role:maintain` or higher"]),
            ([person("a", "sre")], ["`role:maintain` or higher"]),
            ([person("a", permission=Permission.ADMIN)], ["`team:sre`"]),
            ([person("a", "sre", permission=Permission.MAINTAIN)], []),
            ([person("a", "sre"), person("b", permission=Permission.ADMIN)], []),
        ],
    )
    def test_each_of_all_must_be_one_who_approved(self, approving, unmet):
        missing = missing_for_all(PULL, approving, Requirements(all_of=("team:sre", "role:maintain")))
        assert bool(missing) is bool(unmet)
        told = "".join(missing)
        assert [each for each in ("`team:sre`", "`role:maintain` or higher") if each in told] == unmet

    def test_it_is_told_who_approved_already_and_who_could(self):
        asked = Requirements(approvals=3, any_of=("team:sre", "role:admin"))
        (sentence,) = missing_for_all(PULL, [person("a", "sre"), person("b", "sre"), person("c")], asked)
        assert sentence.startswith("3 approvals by different people among `team:sre` or `role:admin` of the current")
        assert "there are 2 (by `a`, `b`). Ask for a review by somebody among them." in sentence
        (sentence,) = missing_for_all(PULL, [person("a")], Requirements(approvals=2))
        assert "there is 1 (by `a`). Ask for a review by somebody with write permission." in sentence


@pytest.mark.parametrize(
    ("globs", "failing"),
    [
        ((), ["lint", "build [linux]", "ci/unit"]),
        (("lint",), ["build [linux]", "ci/unit"]),
        (("LINT",), ["lint", "build [linux]", "ci/unit"]),
        (("build [linux]", "ci*"), ["lint"]),
        (("build ?linux?",), ["lint", "ci/unit"]),
        (("*",), []),
    ],
)
def test_checks_that_are_ignored_hold_up_nothing(globs, failing):
    pull = replace(PULL, failing_checks=("lint", "build [linux]", "ci/unit"))
    missing = missing_for_all(pull, (), Requirements(checks=True, ignore_matching=globs))
    told = "".join(missing)
    assert [name for name in pull.failing_checks if f"`{name}`" in told] == failing


reviews = st.lists(st.tuples(st.sampled_from(["a", "b", "author"]), st.sampled_from([A, C, N, D])), max_size=8)


@given(reviews)
def test_nobody_counts_twice_and_the_author_never(given_reviews):
    found = approvers(PULL, said(*given_reviews))
    assert len(found) == len(set(found))
    assert "author" not in found


def keyed(**wanted):
    return {(name, "default"): None if each is None else (each,) for name, each in wanted.items()}


def test_what_roots_lack_is_told_once_for_all_that_lack_it():
    one = Requirements(approvals=1)
    wanted = keyed(a=one, b=replace(one, mergeable=True), c=Requirements(), d=None)
    told = missing_by_root(replace(PULL, mergeable=False), (), wanted)
    assert [sentence.partition(": ")[0] for sentence in told] == ["`a`, `b`", "`b`", "`d`"]
    for words, sentence in zip(("1 approval", "conflicts with", "`tag_query: ''`"), told, strict=True):
        assert words in sentence


def test_a_root_in_a_stack_of_its_own_is_named_with_it():
    sre = (Requirements(approvals=1, any_of=("team:sre",)),)
    (sentence,) = missing_by_root(PULL, (), {("net", "dev"): (), ("net", "prod"): sre})
    assert sentence.startswith("`net` of stack `prod`: 1 approval by one among `team:sre`")


def test_of_several_checks_each_must_be_fulfilled_and_what_two_ask_for_is_told_once():
    one, two = Requirements(approvals=1, mergeable=True), Requirements(all_of=("team:sre",), mergeable=True)
    told = missing_by_root(replace(PULL, mergeable=False), (), {("net", "default"): (one, two)})
    assert [words for words in ("1 approval", "conflicts", "`team:sre`") if words in " ".join(told)] == [
        "1 approval",
        "conflicts",
        "`team:sre`",
    ]
    assert len(told) == 3


def test_of_many_roots_that_lack_something_the_first_are_named():
    (sentence,) = missing_by_root(PULL, (), keyed(**{f"root-{number:02}": None for number in range(12)}))
    assert "`root-09` and 2 more: No check" in sentence


@given(st.lists(st.sampled_from(["team:sre", "team:dba", "user:a", "role:write", "*"])), st.integers(1, 4))
def test_one_person_is_one_approval_whatever_stands_for_them(any_of, count):
    both = [person("a", "sre", "dba")]
    missing = missing_for_all(PULL, both, Requirements(approvals=count, any_of=tuple(any_of)))
    assert bool(missing) is (count > 1)


def test_a_head_that_lacks_commits_of_its_base_is_missing_them_where_that_is_required():
    wanted = Requirements(undiverged=True)
    (sentence,) = missing_for_all(replace(PULL, lacks=EARLIER), [], wanted)
    assert sentence == (
        f"The branch is out of date: it lacks `{EARLIER[:7]}`, the newest commit of `main`. Merge `main` into it, or "
        "rebase it, and push."
    )
    assert missing_for_all(PULL, [], wanted) == ()
    assert missing_for_all(replace(PULL, lacks=EARLIER), [], Requirements()) == ()

"""Who reviews plans of which roots, and what pull requests must fulfil."""

from __future__ import annotations

import pytest

from tests.configuration import REPOSITORY, load, refusal
from tidegate.config.loader import load_configuration, without_file
from tidegate.config.trust import trusted
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Root


def judged(loaded, root):
    """Return what holds for a root of another commit, and what it requires."""
    found = trusted(loaded, [each.root for each in loaded.roots or ()], [root])
    (one,) = found.configured.roots
    return one, found.requirements[one.key]


def rule_of(loaded, root):
    return judged(loaded, root)[0].review_rule


def requirements_of(loaded, root):
    return judged(loaded, root)[1]


def reviews(text: str) -> dict[str, ReviewRule]:
    return {each.root.name: each.review_rule for each in load(text).roots}


def test_without_a_word_every_plan_with_changes_waits_for_one_person():
    loaded = load("version: 1\nroots: [{dir: a}]\n")
    assert loaded.review_rule == ReviewRule() == loaded.roots[0].review_rule
    assert loaded.requirements == Requirements()


def test_plan_review_is_a_word_or_a_mapping_and_each_root_may_have_its_own():
    text = """
version: 1
plan_review: manual
roots:
  - {dir: a}
  - {dir: b, plan_review: {approvals: 2, exclude_authors: true}}
"""
    assert reviews(text) == {"a": ReviewRule(PlanReview.MANUAL), "b": ReviewRule(PlanReview.MANUAL, 2, True)}
    loaded = load(text)
    assert rule_of(loaded, Root("b", "b")).approvals == 2
    assert rule_of(loaded, Root("a", "a")) == ReviewRule(PlanReview.MANUAL)


def test_the_installation_says_what_the_file_leaves_open():
    raw = b"version: 1\nroots: [{dir: a, plan_review: {approvals: 2}}, {dir: b, plan_review: always}]\n"
    loaded = load_configuration(raw, REPOSITORY, PlanReview.NEVER)
    assert rule_of(loaded, Root("a", "a")) == ReviewRule(PlanReview.NEVER, 2)
    assert rule_of(loaded, Root("b", "b")) == ReviewRule(PlanReview.ALWAYS)
    assert rule_of(without_file(PlanReview.MANUAL), Root("a", "a")) == ReviewRule(PlanReview.MANUAL)


def test_another_name_is_no_way_around_a_review():
    text = """
version: 1
plan_review: never
roots:
  - {dir: production, plan_review: {when: always, approvals: 2}}
  - {dir: sandbox, plan_review: {when: manual, exclude_authors: true}}
"""
    strict = ReviewRule(PlanReview.ALWAYS, 2, True)
    assert rule_of(load(text), Root("sandbox", "production")) == strict
    assert rule_of(load(text), Root("production", "sandbox")) == strict
    assert rule_of(load(text), Root("new", "production")) == strict
    assert rule_of(load(text), Root("production", "production", "other")) == strict
    assert rule_of(load(text), Root("new", "new")) == strict
    assert rule_of(load(text), Root("sandbox", "sandbox")) == ReviewRule(PlanReview.MANUAL, 1, True)


def test_workspaces_inherit_the_plan_review_of_their_directory():
    text = """
version: 1
dirs:
  a: {plan_review: never, workspaces: {dev: {}, prod: {plan_review: always}}}
  b: {plan_review: manual}
  c:
"""
    assert {name: rule.when for name, rule in reviews(text).items()} == {
        "a/dev": PlanReview.NEVER,
        "a/prod": PlanReview.ALWAYS,
        "b": PlanReview.MANUAL,
        "c": PlanReview.ALWAYS,
    }


def test_requirements_of_deploys_by_hand_are_those_that_are_named_and_enabled():
    text = """
version: 1
apply_requirements:
  approved: {any_of_count: 2}
  merge_conflicts:
  status_checks: {enabled: false}
"""
    assert load(text).requirements == Requirements(approvals=2, mergeable=True, checks=False)
    everything = "version: 1\napply_requirements: {approved: {enabled: True}, status_checks: {enabled: true}}\n"
    assert load(everything).requirements == Requirements(approvals=1, mergeable=False, checks=True)
    assert load("version: 1\napply_requirements:\n").requirements == Requirements()
    disabled = "version: 1\napply_requirements: {approved: {enabled: false, any_of_count: 3}}\n"
    assert load(disabled).requirements == Requirements()


@pytest.mark.parametrize(
    ("line", "problem", "allowed"),
    [
        ("plan_review: sometimes", "'sometimes'", "always"),
        ("plan_review: [always]", "a list", "mapping"),
        ("plan_review: {when: on}", "'on'", "never"),
        ("plan_review: {approvals: 0}", "'0'", "1"),
        ("plan_review: {approvals: 21}", "'21'", "20"),
        ("plan_review: {approval: 2}", "'approval'", "Did you mean 'approvals'?"),
        ("plan_review: {exclude_authors: yes}", "'yes'", "Write true or false"),
        ("apply_requirements: {approve: {}}", "'approve'", "Did you mean 'approved'?"),
        ("apply_requirements: {approved: {count: 2}}", "'count'", "Allowed keys: enabled, any_of_count"),
        ("apply_requirements: {status_checks: {enabled: 1}}", "'1'", "Write true or false"),
        ("apply_requirements: true", "'true'", "mapping"),
    ],
)
def test_what_reviews_and_requirements_cannot_be_is_told_with_its_place(line, problem, allowed):
    error = refusal(f"version: 1\n{line}\n")
    assert (error.line, error.column is not None) == (2, True)
    assert problem in error.problem
    assert allowed in error.allowed


CHECKS = """
version: 1
apply_requirements:
  checks:
    - {tag_query: prod and not dir:live/sandbox/**, approved: {any_of_count: 2}, status_checks: }
    - {tag_query: dir:live/**, merge_conflicts: {}}
    - {tag_query: "name:free"}
roots:
  - {dir: live/network, tags: [prod]}
  - {dir: live/sandbox/x, tags: [prod]}
  - {dir: elsewhere}
  - {dir: other, name: free}
"""
TWO, MERGEABLE = Requirements(approvals=2, checks=True), Requirements(mergeable=True)


@pytest.mark.parametrize(
    ("root", "wanted"),
    [
        (Root("live/network", "live/network"), {TWO}),
        (Root("live/sandbox/x", "live/sandbox/x"), {MERGEABLE}),
        (Root("elsewhere", "elsewhere"), None),
        (Root("free", "other"), {Requirements()}),
        (Root("new", "live/new"), {TWO, MERGEABLE, Requirements()}),
        (Root("new", "new"), None),
    ],
)
def test_the_first_check_whose_query_matches_tells_what_a_root_requires(root, wanted):
    required = requirements_of(load(CHECKS), root)
    assert (None if required is None else set(required)) == wanted


@pytest.mark.parametrize(
    "root",
    [
        Root("free", "live/network"),
        Root("live/network", "live/moved"),
        Root("live/network", "live/sandbox/x"),
    ],
)
def test_another_name_or_place_is_no_way_around_a_check(root):
    assert TWO in (requirements_of(load(CHECKS), root) or ())


def test_without_checks_every_root_requires_the_same():
    loaded = load("version: 1\napply_requirements: {approved: {}}\n")
    assert requirements_of(loaded, Root("a", "a")) == (Requirements(approvals=1),)


@pytest.mark.parametrize(
    ("requirements", "column", "words"),
    [
        ("{checks: [{tag_query: 'a and'}]}", 43, ["column 6 of the tag query: nothing follows 'and'", "'not'"]),
        ("{checks: [{tag_query: [a]}]}", 43, ["expected a tag query", "'' matches every root"]),
        ("{checks: [{tag_query: }]}", 43, ["expected a tag query"]),
        ("{checks: [{approved: {}}]}", 31, ["missing key 'tag_query'"]),
        ("{checks: [{tag_query: '', aproved: {}}]}", 47, ["Did you mean 'approved'?"]),
        ("{checks: [{tag_query: '', approved: {any: []}}]}", 58, ["Did you mean 'any_of'?"]),
        ("{checks: [], approved: {}}", 21, ["not allowed beside", "last check with tag_query: ''"]),
    ],
)
def test_what_checks_cannot_be_is_told_with_its_place(requirements, column, words):
    error = refusal(f"version: 1\napply_requirements: {requirements}\n")
    assert (error.line, error.column) == (2, column)
    for word in words:
        assert word in str(error)

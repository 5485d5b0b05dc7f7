"""What holds for roots of a pull request's head: the default branch's file decides, and the strictest of it."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import REPOSITORY
from tidegate.config.declarations import DeclaredPolicy
from tidegate.config.loader import load_configuration
from tidegate.config.resolution import configure
from tidegate.config.trust import trusted
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.rules.access import Access

FILE = b"""
version: 1
apply_requirements:
  checks:
    - {tag_query: prod, approved: {any_of_count: 2}}
    - {tag_query: 'dir:live/**', merge_conflicts: {}}
    - {tag_query: 'name:free'}
roots:
  - {dir: live/network, tags: [prod], plan_review: {approvals: 2}}
  - {dir: live/app, plan_review: never}
  - {dir: other, name: free, plan_review: never}
"""
NETWORK, APP, FREE = Root("live/network", "live/network"), Root("live/app", "live/app"), Root("free", "other")
KNOWN = (NETWORK, APP, FREE)
TWO, MERGEABLE, NOTHING = Requirements(approvals=2), Requirements(mergeable=True), Requirements()
SRE, ANYBODY = Access(apply=("team:sre",), review=("team:sre",)), Access()


def policies(*pairs):
    return tuple(DeclaredPolicy(parse_tag_query(query), access, 1) for query, access in pairs)


def loaded(**fields):
    return dataclasses.replace(load_configuration(FILE, REPOSITORY), **fields)


def tagged_branches(**fields):
    """The file with a tag for branches whose names begin with ``hotfix/``."""
    tagging = load_configuration(FILE + b"tags: {branch: {hotfix: '^hotfix/'}}\n", REPOSITORY)
    return dataclasses.replace(tagging, **fields)


def one(root, configuration=None):
    judged = trusted(configuration or loaded(), KNOWN, [root])
    (configured,) = judged.configured.roots
    return configured, judged.requirements[configured.key]


@pytest.mark.parametrize("root", KNOWN)
def test_a_root_of_the_default_branch_is_as_its_file_says(root):
    configured, _ = one(root)
    assert [configured] == list(configure(loaded(), [root]).roots)


@pytest.mark.parametrize(
    ("root", "required"),
    [
        (NETWORK, {TWO}),
        (APP, {MERGEABLE}),
        (FREE, {NOTHING}),
        (Root("free", "live/network"), {TWO, MERGEABLE, NOTHING}),
        (Root("live/network", "live/app"), {TWO, MERGEABLE, NOTHING}),
        (Root("live/network", "live/network", "other"), {TWO, MERGEABLE, NOTHING}),
        (Root("new", "live/new"), {TWO, MERGEABLE, NOTHING}),
    ],
)
def test_another_name_or_place_is_no_way_around_a_requirement(root, required):
    assert set(one(root)[1]) == required


@pytest.mark.parametrize("branch", ["hotfix/now", "feature", ""])
def test_no_name_of_its_own_branch_takes_a_requirement_away(branch):
    checks = load_configuration(
        b"apply_requirements: {checks: [{tag_query: 'branch:hotfix'}, {tag_query: '', approved: {any_of_count: 2}}]}",
        REPOSITORY,
    ).checks
    for root in (APP, Root("new", "new")):
        judged = trusted(tagged_branches(checks=checks), KNOWN, [root], branch)
        assert TWO in judged.requirements[root.name, "default"]


def test_a_root_that_no_check_matches_is_refused_also_under_a_new_name():
    few = dataclasses.replace(loaded(), checks=loaded().checks[:1])
    for root in (APP, FREE, Root("new", "new"), Root("new", "live/app"), Root("live/network", "other")):
        assert one(root, few)[1] is None


@pytest.mark.parametrize(
    "root", [Root("free", "live/network"), Root("live/network", "live/app"), Root("new", "live/new")]
)
def test_another_name_or_place_is_no_way_around_a_review(root):
    configured, _ = one(root)
    assert configured.review_rule == ReviewRule(PlanReview.ALWAYS, approvals=2)


class TestAccess:
    def test_a_root_of_the_default_branch_is_under_its_own_policy(self):
        guarded = loaded(policies=policies(("prod", SRE), ("", ANYBODY)))
        assert one(NETWORK, guarded)[0].access == SRE
        assert one(APP, guarded)[0].access == ANYBODY

    @pytest.mark.parametrize("root", [Root("free", "live/network"), Root("new", "new")])
    def test_another_name_or_place_is_no_way_around_a_policy(self, root):
        guarded = loaded(policies=policies(("prod", SRE), ("", ANYBODY)))
        assert one(root, guarded)[0].access.apply == ("team:sre",)

    def test_roots_that_no_policy_matches_do_not_shut_out_a_new_one(self):
        guarded = loaded(policies=policies(("prod", SRE), ("name:new", ANYBODY)))
        assert one(Root("new", "new"), guarded)[0].access.apply == ("team:sre",)
        assert one(Root("newer", "newer"), guarded)[0].access.denied

    @pytest.mark.parametrize("branch", ["hotfix/now", "feature", ""])
    @pytest.mark.parametrize("root", [NETWORK, Root("new", "new")])
    def test_no_name_of_its_own_branch_gives_a_change_more_access(self, root, branch):
        guarded = tagged_branches(policies=policies(("branch:hotfix", ANYBODY), ("", SRE)))
        assert trusted(guarded, KNOWN, [root], branch).configured.roots[0].access == SRE

    def test_a_branch_may_give_a_change_less_access(self):
        guarded = tagged_branches(policies=policies(("branch:hotfix", SRE), ("", ANYBODY)))
        assert trusted(guarded, KNOWN, [APP], "hotfix/now").configured.roots[0].access == SRE
        assert trusted(guarded, KNOWN, [APP], "feature").configured.roots[0].access == ANYBODY

    def test_a_root_that_only_its_branch_makes_usable_is_granted_to_nobody(self):
        text = b"""
tags: {branch: {hotfix: '^hotfix/'}}
stacks: {names: {all: {tag_query: '', variables: {a: '0'}}}}
workflows: [{tag_query: 'branch:hotfix'}, {tag_query: '', environment: '${STACK_VAR_B}'}]
access_control: {policies: [{tag_query: ''}]}
"""
        guarded = load_configuration(text, REPOSITORY)
        (judged,) = trusted(guarded, [APP], [APP], "hotfix/now").configured.roots
        assert judged.access.apply == ()
        assert "without the tag of its branch" in judged.access.denied

    def test_where_there_is_no_access_control_there_is_none(self):
        assert one(Root("new", "new"))[0].access is None


class TestStacks:
    GATED = (
        FILE
        + b"""
stacks:
  names:
    dev: {tag_query: 'name:free or dir:lab/**'}
    prod: {tag_query: prod, rules: {apply_after: [dev]}}
"""
    )

    @pytest.mark.parametrize("root", [Root("free", "live/network"), Root("live/network", "other")])
    def test_another_name_or_place_is_no_way_out_of_a_stack(self, root):
        judged = trusted(load_configuration(self.GATED, REPOSITORY), KNOWN, [root])
        assert judged.configured.roots == ()
        assert "would bypass that stack's gates" in judged.configured.refused[root.name]

    def test_a_new_root_is_in_the_stack_that_the_default_branch_has_for_it(self):
        judged = trusted(load_configuration(self.GATED, REPOSITORY), KNOWN, [Root("lab/x", "lab/x"), NETWORK])
        assert [each.key for each in judged.configured.roots] == [("lab/x", "dev"), ("live/network", "prod")]
        assert set(judged.requirements) == {("lab/x", "dev"), ("live/network", "prod")}

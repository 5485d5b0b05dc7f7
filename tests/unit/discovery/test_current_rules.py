"""What runs again deploys what it deployed, by the rules that the default branch's file has now."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, amended, any_deployment, any_root
from tests.fakes import MemoryForge
from tests.fakes.ports import memory_ports
from tests.unit.discovery.trees import Trees
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.requirements_gate import demanded
from tidegate.deploys.rules.rerun import run_again
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.discovery.current_rules import under_current_rules
from tidegate.policies.rules.policy import PolicySetStatus
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Engine, EngineName
from tidegate.rules.access import Access

OLDER = (PolicySetStatus("older"),)
WORDS = [("words", ("team:sre",), "")]
NARROWED = """\
version: 1
policy_sets: {words: {paths: [policies], owners: ['team:sre']}}
plan_review: never
access_control: {policies: [{tag_query: '', apply: ['team:sre']}]}
apply_requirements: {checks: [{tag_query: sre, approved: {enabled: true}}]}
dirs: {app: {tags: [sre]}}
"""
APP = any_root(name="app", dir="app")


class Scenario:
    """A repository with roots, whose default branch has this file."""

    def __init__(self):
        self.ports = memory_ports(forge=MemoryForge(branches={"main": "a" * 40}), history=self)
        self.files = {"app/main.tf": "", "db/main.tf": "", "policies/main.rego": "package main"}
        self.fetched = 0

    @contextmanager
    def fetch(self, _url, _token, _before, _after):
        self.fetched += 1
        yield Trees({}, self.files)

    def under(self, *old, file=NARROWED):
        self.files["tidegate.yaml"] = file
        again = [run_again(each, "main", "reviewer", NOW, "demand") for each in old]
        found = under_current_rules(self.ports, REPOSITORY, again)
        return [found[each.id] for each in again]


@pytest.fixture
def scenario():
    return Scenario()


def held(deployment):
    return [(each.name, each.owners, each.problem) for each in deployment.policies.sets]


def deployed(**fields):
    return any_deployment(3, **{"root": APP, "access": Access(apply=("*",)), **fields})


def test_it_has_the_access_the_requirements_and_the_policy_sets_of_now(scenario):
    (new,) = scenario.under(deployed(unmatched=True, policy_sets=OLDER))
    assert (new.settings.access.apply, new.settings.unmatched, held(new)) == (("team:sre",), False, WORDS)
    assert [each.approvals for each in new.settings.requires] == [1]


def test_what_was_required_and_is_not_any_more_is_not_required(scenario):
    old = deployed(requires=(Requirements(approvals=5),), policy_sets=OLDER)
    (new,) = scenario.under(old, file="version: 1\n")
    assert (new.settings.access, demanded(new), new.settings.unmatched, new.policies.sets) == (None, (), False, ())


def test_freezes_are_about_the_tags_that_its_root_has_now(scenario):
    (new,) = scenario.under(deployed(tags=("older",)))
    assert (new.tags, new.request.foreign) == (("sre",), False)


def test_it_deploys_what_it_deployed(scenario):
    run = RunSettings(environment="older")
    old = deployed(run=run, root=replace(APP, engine=Engine(EngineName.TOFU, "1.9.0")))
    (new,) = scenario.under(old)
    assert (new.root, new.revision, new.settings.run, new.stack) == (old.root, old.revision, run, old.stack)


def test_a_review_that_it_waited_for_is_waited_for_again(scenario):
    (new,) = scenario.under(deployed(review_rule=ReviewRule(PlanReview.ALWAYS, 2)))
    assert new.settings.review_rule == ReviewRule(PlanReview.ALWAYS, 2)
    (new,) = scenario.under(deployed(review_rule=ReviewRule(PlanReview.NEVER)), file="plan_review: always\n")
    assert new.settings.review_rule.when is PlanReview.ALWAYS


def test_what_the_default_branch_has_no_more_is_under_all_its_rules(scenario):
    (new,) = scenario.under(deployed(root=any_root(name="gone", dir="gone")))
    assert (new.settings.access.apply, new.settings.unmatched, new.request.foreign) == (("team:sre",), True, True)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("stacks: {names: {prod: {tag_query: 'dir:app'}}}\n", "the stack 'default'"),
        ("stacks: {names: {prod: {tag_query: 'dir:app'}, dev: {tag_query: 'dir:app'}}}\n", "app"),
        ("nonsense: 1\n", "nonsense"),
    ],
)
def test_where_nothing_is_said_of_it_it_does_not_run_and_is_told_why(scenario, file, words):
    (told,) = scenario.under(deployed(), file=file)
    assert isinstance(told, str)
    assert words in told


def test_what_may_run_and_what_may_not_are_told_apart(scenario):
    _, new = scenario.under(deployed(stack="older"), replace(deployed(), id="db", root=any_root(name="db", dir="db")))
    assert new.root.name == "db"


def test_what_destroys_a_root_that_is_gone_is_under_what_held_and_what_holds(scenario):
    gone = deployed(root=any_root(name="gone", dir="gone"), destroy=Destruction("last"))
    old = amended(gone, requires=(Requirements(approvals=5),), access=Access(apply=("user:ann",)))
    (new,) = scenario.under(old, file=NARROWED.replace("sre, approved", "'', approved"))
    assert sorted(each.approvals for each in new.settings.requires) == [1, 5]
    assert new.settings.access == old.settings.access.and_also(scenario.under(deployed())[0].settings.access)
    assert (held(new), new.request.destroy) == (WORDS, old.request.destroy)


def test_where_nothing_runs_again_nothing_is_fetched(scenario):
    assert scenario.under() == []
    assert scenario.fetched == 0

"""A pull request that rewrites what grants or demands in its own file gains nothing by it."""

from __future__ import annotations

import pytest

from tests.unit.comments.events_scenario import HEAD, MAIN, EventsScenario
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.workflow import StepKind
from tidegate.roots.rules.root import EngineName

GUARDED = """
engine: {name: terraform, version: 1.11.4}
plan_review: {when: always, approvals: 2}
dirs:
  live/app: {tags: [prod]}
  live/db: {tags: [dev]}
stacks:
  names:
    prod: {tag_query: prod, variables: {account: production}, rules: {apply_after: [dev]}}
    dev: {tag_query: dev}
workflows:
  - {tag_query: prod, environment: '${STACK_VAR_ACCOUNT}', plan: [{type: init}, {type: plan}]}
hooks: {plan: {pre: [{type: run, cmd: [./check]}]}}
access_control:
  policies:
    - {tag_query: 'stack_name:prod', apply: ['team:sre']}
    - {tag_query: '', apply: ['*']}
apply_requirements:
  checks:
    - {tag_query: 'stack_name:prod', approved: {any_of: ['team:sre'], any_of_count: 1}}
    - {tag_query: ''}
"""
#: The same file, with every guard taken away by the pull request.
FREED = """
engine: {name: tofu, version: 1.9.0}
plan_review: never
dirs:
  live/app: {tags: [dev]}
  live/db: {tags: [dev]}
stacks: {names: {anything: {tag_query: '', rules: {auto_apply: true}}}}
workflows: [{tag_query: '', environment: mine, plan: [{type: init}, {type: run, cmd: [./steal]}, {type: plan}]}]
access_control: {policies: [{tag_query: '', apply: ['*'], review: ['*']}]}
"""


@pytest.fixture
def scenario():
    scenario = EventsScenario()
    scenario.file(MAIN, GUARDED)
    scenario.file(HEAD, FREED)
    scenario.forge.teams["acme/sre"] = {"reviewer", "maintainer"}
    return scenario


def test_who_is_not_granted_a_deploy_by_the_default_branch_gets_none(scenario):
    scenario.approve("reviewer")
    scenario.comment("tidegate deploy -p live/app", by="writer")
    assert scenario.names == []
    assert "team:sre can deploy stack prod, and writer is not among them" in scenario.reply


def test_requirements_are_those_of_the_default_branch(scenario):
    scenario.comment("tidegate deploy -p live/app", by="maintainer")
    assert scenario.names == []
    assert "`live/app` of stack `prod`: 1 approval by one among `team:sre`" in scenario.reply


def test_stack_review_access_engine_hooks_and_steps_are_those_of_the_default_branch(scenario):
    scenario.approve("reviewer")
    scenario.comment("tidegate deploy -p live/app", by="maintainer")
    (one,) = scenario.deployments.all()
    assert (one.stack, one.settings.review_rule) == ("prod", ReviewRule(PlanReview.ALWAYS, 2))
    assert one.settings.access.apply == one.settings.access.review == ("team:sre",)
    assert (one.root.engine.name, one.root.engine.version) == (EngineName.TERRAFORM, "1.11.4")
    assert one.settings.run.environment == "production"
    commands = [step.command for step in one.settings.run.plan if step.kind is StepKind.RUN]
    assert commands == [("./check",)]


def test_gates_are_those_of_the_default_branch(scenario):
    scenario.approve("reviewer")
    scenario.comment("tidegate deploy -p live/app -p live/db", by="maintainer")
    waits = {one.root.name: one.change.waits.apply_after for one in scenario.deployments.all()}
    assert waits == {"live/app": ("dev",), "live/db": ()}


class TestWhereAPullRequestGoes:
    RULES = """
tags: {dest_branch: {main: '^main$'}}
access_control:
  policies:
    - {tag_query: 'dest_branch:main', apply: ['team:sre']}
    - {tag_query: '', apply: ['*']}
"""

    @pytest.fixture
    def scenario(self):
        scenario = EventsScenario()
        scenario.forge.changes["anything", HEAD] = scenario.forge.changes["main", HEAD]
        scenario.file(MAIN, self.RULES)
        scenario.pull(base_branch="anything")
        return scenario

    @pytest.mark.parametrize("command", ["tidegate deploy", "tidegate deploy -p live/app --force", "tidegate unlock"])
    def test_a_branch_of_the_authors_own_choice_is_no_way_around_rules_for_another(self, scenario, command):
        scenario.comment(command)
        assert scenario.names == []
        assert "**Nothing was done**: changes from `feature` to `anything`" in scenario.reply

    def test_branches_that_the_default_branch_names_count(self, scenario):
        scenario.file(MAIN, f"destination_branches: [main, {{branch: any*, source_branches: [feature]}}]\n{self.RULES}")
        scenario.comment("tidegate deploy")
        assert scenario.names == ["live/app"]
        scenario.comment("tidegate unlock", by="maintainer")
        assert scenario.reply.startswith("> `tidegate unlock`\n\n- `live/app`: ")

    def test_the_default_branch_counts_only_if_it_is_among_those_that_are_named(self, scenario):
        scenario.file(MAIN, f"destination_branches: [release]\n{self.RULES}")
        scenario.pull(base_branch="main")
        scenario.comment("tidegate deploy")
        assert "**Nothing was done**" in scenario.reply

    def test_queues_can_be_unlocked_while_the_default_branchs_file_cannot_be_used(self, scenario):
        scenario.pull(base_branch="main")
        scenario.file(MAIN, "roots: 7\n")
        scenario.comment("tidegate unlock")
        assert "live/app" in scenario.reply


def test_a_root_that_only_the_head_has_may_be_any_of_the_default_branchs(scenario):
    scenario.file(MAIN, "version: 1\n")
    scenario.file(HEAD, "roots: [{name: app, dir: live/app}, {name: live/db, dir: live/db}]\n")
    scenario.comment("tidegate deploy -p app -p live/db --force", by="maintainer")
    assert {one.root.name: one.request.foreign for one in scenario.deployments.all()} == {"app": True, "live/db": False}

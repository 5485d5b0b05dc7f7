"""How merges, comments and requests become deployments of a change: in their stacks, in line, by who may."""

from __future__ import annotations

import pytest

from tests.unit.comments.events_scenario import AT, HEAD, MAIN, EventsScenario
from tests.unit.pushes.push_scenario import Scenario
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.vcs.rules.check_run import Conclusion

FILES = {"live/app/main.tf": "", "live/db/main.tf": ""}
STACKS = """
dirs:
  live/db: {tags: [dev]}
  live/app: {tags: [prod]}
stacks:
  names:
    dev: {tag_query: dev}
    prod: {tag_query: prod, on_change: {can_apply_after: [dev]}}
"""
IN_BOTH = """
dirs: {live/app: {}, live/db: {}}
stacks:
  allow_workspace_in_multiple_stacks: true
  names:
    dev: {tag_query: '', variables: {size: small}}
    prod: {tag_query: 'dir:live/app', variables: {size: large}, on_change: {can_apply_after: [dev]}}
"""
CYCLE = """
dirs:
  live/app: {when_modified: {depends_on: 'dir:live/db'}}
  live/db: {when_modified: {depends_on: 'dir:live/app'}}
"""
SRE_ONLY = "access_control: {policies: [{tag_query: 'stack_name:prod', apply: ['user:sre']}, {tag_query: ''}]}\n"


def places(deployments):
    return [f"{each.root.name}@{each.stack}" for each in deployments]


class TestMerges:
    @pytest.fixture
    def scenario(self):
        return Scenario(old=FILES)

    def pushed(self, scenario, text, **changed):
        """Merge a file, and then a change of both roots."""
        scenario.old = {**FILES, "tidegate.yaml": text}
        scenario.new = {**scenario.old, "live/app/main.tf": "# new", "live/db/main.tf": "# new", **changed}
        return scenario.receive()

    def test_deployments_stand_in_line_after_what_they_wait_for(self, scenario):
        self.pushed(scenario, STACKS)
        assert places(scenario.enqueued) == ["live/db@dev", "live/app@prod"]
        assert scenario.enqueued[1].change.waits.apply_after == ("dev",)

    def test_all_of_a_change_are_enrolled_under_its_id(self, scenario):
        self.pushed(scenario, STACKS)
        change = scenario.enqueued[0].change.id
        enrolled = scenario.change_sets.deployments(change)
        assert {each.deployment for each in enrolled} == {each.id for each in scenario.enqueued}

    def test_a_root_in_two_stacks_is_deployed_in_each_with_its_own_variables(self, scenario):
        outcome = self.pushed(scenario, IN_BOTH)
        assert places(scenario.enqueued) == ["live/app@dev", "live/db@dev", "live/app@prod"]
        dev, _, prod = scenario.enqueued
        assert dict(dev.settings.run.variables)["STACK_VAR_SIZE"] == "small"
        assert dict(prod.settings.run.variables)["STACK_VAR_SIZE"] == "large"
        assert [each.root_name for each in [scenario.queues.read(dev.queue)[0]]] == ["live/app"]
        assert [each.deployment for each in scenario.queues.waiting(dev.queue)] == [dev.id, prod.id]
        assert "live/app (prod)" in outcome

    def test_the_same_push_again_makes_the_same_deployments(self, scenario):
        self.pushed(scenario, IN_BOTH)
        before = list(scenario.enqueued)
        scenario.receive("delivery-2")
        assert scenario.enqueued == before

    def test_roots_that_wait_for_each_other_fail_the_commit_and_are_shown(self, scenario):
        outcome = self.pushed(scenario, CYCLE)
        assert scenario.enqueued == []
        assert "live/app → live/db → live/app" in outcome
        (check_run,) = scenario.forge.check_runs.values()
        assert check_run.conclusion is Conclusion.FAILURE
        assert "The commit with the correction deploys them" in check_run.summary

    @pytest.mark.parametrize(("sender", "when"), [("octocat", PlanReview.ALWAYS), ("sre", PlanReview.NEVER)])
    def test_who_merges_and_may_not_deploy_waits_for_a_review(self, scenario, sender, when):
        scenario.forge.writers |= {"octocat", "sre"}
        text = STACKS + SRE_ONLY + "plan_review: never\n"
        scenario.old = {**FILES, "tidegate.yaml": text}
        scenario.new = {**scenario.old, "live/app/main.tf": "# new", "live/db/main.tf": "# new"}
        scenario.receive(sender=sender)
        dev, prod = scenario.enqueued
        assert dev.settings.review_rule.when is PlanReview.NEVER
        assert prod.settings.review_rule.when is when

    def test_a_push_of_nobody_known_waits_for_a_review_where_not_everybody_may_deploy(self, scenario):
        scenario.old = {**FILES, "tidegate.yaml": STACKS + SRE_ONLY + "plan_review: never\n"}
        scenario.new = {**scenario.old, "live/app/main.tf": "# new", "live/db/main.tf": "# new"}
        scenario.receive("head-1", event="head", before="a" * 40, after="b" * 40)
        assert [each.settings.review_rule.when for each in scenario.enqueued] == [PlanReview.NEVER, PlanReview.ALWAYS]

    def test_a_touched_root_that_the_file_holds_back_is_told_on_the_commit(self, scenario):
        text = "dirs: {live/app: {when_modified: {autoplan: false}}, live/db: {}}\n"
        outcome = self.pushed(scenario, text)
        assert places(scenario.enqueued) == ["live/db@default"]
        assert "merges do not deploy it" in outcome
        (check_run,) = scenario.forge.check_runs.values()
        assert check_run.conclusion is Conclusion.NEUTRAL
        assert "merges do not deploy it" in check_run.summary

    def test_the_next_push_is_discovered_from_what_is_known_of_this_one(self, scenario):
        self.pushed(scenario, STACKS)
        scenario.old, scenario.new = scenario.new, {**scenario.new, "live/db/main.tf": "# newer"}
        scenario.receive("delivery-2", before=scenario.enqueued[0].revision.sha, after="c" * 40)
        assert places(scenario.enqueued[2:]) == ["live/db@dev"]
        assert scenario.enqueued[2].change.id == ""


class TestPeople:
    @pytest.fixture
    def scenario(self):
        scenario = EventsScenario()
        scenario.file(MAIN, STACKS)
        scenario.trees[HEAD] = {**scenario.trees[HEAD], "tidegate.yaml": STACKS, "live/db/main.tf": "# new"}
        return scenario

    def test_a_comment_deploys_in_the_stacks_of_the_default_branch(self, scenario):
        scenario.file(HEAD, STACKS.replace(", on_change: {can_apply_after: [dev]}", ""))
        scenario.comment("tidegate deploy")
        app, db = scenario.enqueued
        assert places([app, db]) == ["live/app@prod", "live/db@dev"]
        assert app.change.waits.apply_after == ("dev",)
        assert len(scenario.change_sets.deployments(app.change.id)) == 2

    def test_a_root_in_two_stacks_is_deployed_in_each(self, scenario):
        scenario.file(MAIN, IN_BOTH)
        scenario.file(HEAD, IN_BOTH)
        scenario.comment("tidegate deploy -p live/app")
        assert sorted(places(scenario.enqueued)) == ["live/app@dev", "live/app@prod"]

    def test_who_may_not_deploy_a_stack_deploys_nothing(self, scenario):
        scenario.file(MAIN, STACKS + SRE_ONLY)
        scenario.comment("tidegate deploy --force")
        assert scenario.enqueued == []
        assert "stack prod" in scenario.reply

    def test_a_named_root_that_is_in_no_stack_is_refused_with_why(self, scenario):
        text = "dirs: {live/app: {}, live/db: {}}\nstacks: {names: {default: {tag_query: 'dir:live/db'}}}\n"
        scenario.file(MAIN, text)
        scenario.file(HEAD, text)
        scenario.comment("tidegate deploy -p live/app")
        assert scenario.enqueued == []
        assert "It is in no stack" in scenario.reply

    def test_roots_that_wait_for_each_other_are_refused_with_the_cycle(self, scenario):
        scenario.file(MAIN, CYCLE)
        scenario.file(HEAD, CYCLE)
        scenario.comment("tidegate deploy")
        assert scenario.enqueued == []
        assert "dependency cycle" in scenario.reply

    def test_who_may_not_unlock_by_the_rule_of_what_locked_is_told_so(self, scenario):
        scenario.comment("tidegate deploy -p live/db")
        scenario.comment("tidegate unlock -p live/db", by="stranger")
        assert "write access" in scenario.reply

    def test_a_request_deploys_all_stacks_of_a_root_one_after_the_other(self, scenario):
        scenario.file(MAIN, IN_BOTH)
        scenario.request("live/app")
        assert places(scenario.enqueued) == ["live/app@dev", "live/app@prod"]
        first, second = scenario.enqueued
        assert first.request.at == AT < second.request.at

    def test_a_request_of_who_may_not_deploy_is_refused(self, scenario):
        scenario.file(MAIN, STACKS + SRE_ONLY)
        assert "stack prod" in scenario.request("live/app", by="writer")
        assert scenario.enqueued == []

    def test_a_request_for_a_root_that_is_in_no_stack_is_refused_with_why(self, scenario):
        scenario.file(MAIN, "dirs: {live/app: {}}\nstacks: {names: {default: {tag_query: 'dir:live/db'}}}\n")
        assert "It is in no stack" in scenario.request("live/app")

    def test_a_request_for_roots_that_wait_for_each_other_is_refused(self, scenario):
        scenario.file(MAIN, CYCLE)
        assert "dependency cycle" in scenario.request("live/app", "live/db")

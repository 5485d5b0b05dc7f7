"""How merges, comments and requests become deployments of a change: in their stacks, in line, by who may."""

from __future__ import annotations

import pytest

from tests.unit.usecases.events_world import AT, HEAD, MAIN, EventsWorld
from tests.unit.usecases.push_world import World
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
    def world(self):
        return World(old=FILES)

    def pushed(self, world, text, **changed):
        """Merge a file, and then a change of both roots."""
        world.old = {**FILES, "tidegate.yaml": text}
        world.new = {**world.old, "live/app/main.tf": "# new", "live/db/main.tf": "# new", **changed}
        return world.receive()

    def test_deployments_stand_in_line_after_what_they_wait_for(self, world):
        self.pushed(world, STACKS)
        assert places(world.enqueued) == ["live/db@dev", "live/app@prod"]
        assert world.enqueued[1].change.waits.apply_after == ("dev",)

    def test_all_of_a_change_are_enrolled_under_its_id(self, world):
        self.pushed(world, STACKS)
        change = world.enqueued[0].change.id
        enrolled = world.change_sets.deployments(change)
        assert {each.deployment for each in enrolled} == {each.id for each in world.enqueued}

    def test_a_root_in_two_stacks_is_deployed_in_each_with_its_own_variables(self, world):
        outcome = self.pushed(world, IN_BOTH)
        assert places(world.enqueued) == ["live/app@dev", "live/db@dev", "live/app@prod"]
        dev, _, prod = world.enqueued
        assert dict(dev.settings.run.variables)["STACK_VAR_SIZE"] == "small"
        assert dict(prod.settings.run.variables)["STACK_VAR_SIZE"] == "large"
        assert [each.root_name for each in [world.queues.read(dev.queue)[0]]] == ["live/app"]
        assert [each.deployment for each in world.queues.waiting(dev.queue)] == [dev.id, prod.id]
        assert "live/app (prod)" in outcome

    def test_the_same_push_again_makes_the_same_deployments(self, world):
        self.pushed(world, IN_BOTH)
        before = list(world.enqueued)
        world.receive("delivery-2")
        assert world.enqueued == before

    def test_roots_that_wait_for_each_other_fail_the_commit_and_are_shown(self, world):
        outcome = self.pushed(world, CYCLE)
        assert world.enqueued == []
        assert "live/app → live/db → live/app" in outcome
        (check_run,) = world.forge.check_runs.values()
        assert check_run.conclusion is Conclusion.FAILURE
        assert "The commit with the correction deploys them" in check_run.summary

    @pytest.mark.parametrize(("sender", "when"), [("octocat", PlanReview.ALWAYS), ("sre", PlanReview.NEVER)])
    def test_who_merges_and_may_not_deploy_waits_for_a_review(self, world, sender, when):
        world.forge.writers |= {"octocat", "sre"}
        text = STACKS + SRE_ONLY + "plan_review: never\n"
        world.old = {**FILES, "tidegate.yaml": text}
        world.new = {**world.old, "live/app/main.tf": "# new", "live/db/main.tf": "# new"}
        world.receive(sender=sender)
        dev, prod = world.enqueued
        assert dev.settings.review_rule.when is PlanReview.NEVER
        assert prod.settings.review_rule.when is when

    def test_a_push_of_nobody_known_waits_for_a_review_where_not_everybody_may_deploy(self, world):
        world.old = {**FILES, "tidegate.yaml": STACKS + SRE_ONLY + "plan_review: never\n"}
        world.new = {**world.old, "live/app/main.tf": "# new", "live/db/main.tf": "# new"}
        world.receive("head-1", event="head", before="a" * 40, after="b" * 40)
        assert [each.settings.review_rule.when for each in world.enqueued] == [PlanReview.NEVER, PlanReview.ALWAYS]

    def test_a_touched_root_that_the_file_holds_back_is_told_on_the_commit(self, world):
        text = "dirs: {live/app: {when_modified: {autoplan: false}}, live/db: {}}\n"
        outcome = self.pushed(world, text)
        assert places(world.enqueued) == ["live/db@default"]
        assert "merges do not deploy it" in outcome
        (check_run,) = world.forge.check_runs.values()
        assert check_run.conclusion is Conclusion.NEUTRAL
        assert "merges do not deploy it" in check_run.summary

    def test_the_next_push_is_discovered_from_what_is_known_of_this_one(self, world):
        self.pushed(world, STACKS)
        world.old, world.new = world.new, {**world.new, "live/db/main.tf": "# newer"}
        world.receive("delivery-2", before=world.enqueued[0].revision.sha, after="c" * 40)
        assert places(world.enqueued[2:]) == ["live/db@dev"]
        assert world.enqueued[2].change.id == ""


class TestPeople:
    @pytest.fixture
    def world(self):
        world = EventsWorld()
        world.file(MAIN, STACKS)
        world.trees[HEAD] = {**world.trees[HEAD], "tidegate.yaml": STACKS, "live/db/main.tf": "# new"}
        return world

    def test_a_comment_deploys_in_the_stacks_of_the_default_branch(self, world):
        world.file(HEAD, STACKS.replace(", on_change: {can_apply_after: [dev]}", ""))
        world.comment("tidegate deploy")
        app, db = world.enqueued
        assert places([app, db]) == ["live/app@prod", "live/db@dev"]
        assert app.change.waits.apply_after == ("dev",)
        assert len(world.change_sets.deployments(app.change.id)) == 2

    def test_a_root_in_two_stacks_is_deployed_in_each(self, world):
        world.file(MAIN, IN_BOTH)
        world.file(HEAD, IN_BOTH)
        world.comment("tidegate deploy -p live/app")
        assert sorted(places(world.enqueued)) == ["live/app@dev", "live/app@prod"]

    def test_who_may_not_deploy_a_stack_deploys_nothing(self, world):
        world.file(MAIN, STACKS + SRE_ONLY)
        world.comment("tidegate deploy --force")
        assert world.enqueued == []
        assert "stack prod" in world.reply

    def test_a_named_root_that_is_in_no_stack_is_refused_with_why(self, world):
        text = "dirs: {live/app: {}, live/db: {}}\nstacks: {names: {default: {tag_query: 'dir:live/db'}}}\n"
        world.file(MAIN, text)
        world.file(HEAD, text)
        world.comment("tidegate deploy -p live/app")
        assert world.enqueued == []
        assert "It is in no stack" in world.reply

    def test_roots_that_wait_for_each_other_are_refused_with_the_cycle(self, world):
        world.file(MAIN, CYCLE)
        world.file(HEAD, CYCLE)
        world.comment("tidegate deploy")
        assert world.enqueued == []
        assert "dependency cycle" in world.reply

    def test_who_may_not_unlock_by_the_rule_of_what_locked_is_told_so(self, world):
        world.comment("tidegate deploy -p live/db")
        world.comment("tidegate unlock -p live/db", by="stranger")
        assert "write access" in world.reply

    def test_a_request_deploys_all_stacks_of_a_root_one_after_the_other(self, world):
        world.file(MAIN, IN_BOTH)
        world.request("live/app")
        assert places(world.enqueued) == ["live/app@dev", "live/app@prod"]
        first, second = world.enqueued
        assert first.request.at == AT < second.request.at

    def test_a_request_of_who_may_not_deploy_is_refused(self, world):
        world.file(MAIN, STACKS + SRE_ONLY)
        assert "stack prod" in world.request("live/app", by="writer")
        assert world.enqueued == []

    def test_a_request_for_a_root_that_is_in_no_stack_is_refused_with_why(self, world):
        world.file(MAIN, "dirs: {live/app: {}}\nstacks: {names: {default: {tag_query: 'dir:live/db'}}}\n")
        assert "It is in no stack" in world.request("live/app")

    def test_a_request_for_roots_that_wait_for_each_other_is_refused(self, world):
        world.file(MAIN, CYCLE)
        assert "dependency cycle" in world.request("live/app", "live/db")

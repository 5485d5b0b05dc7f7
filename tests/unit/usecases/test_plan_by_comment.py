"""What ``plan`` in a comment does to a pull request: what is planned again, what stays, and who is refused."""

from __future__ import annotations

import pytest

from tests.builders import REPOSITORY, sha
from tests.unit.usecases.comment_world import CommentWorld
from tests.unit.usecases.pull_request_world import FILES, FORK_POINT, HEAD, MAIN, NUMBER
from tidegate.ports import Change
from tidegate.pull_requests.restart_pull_request import restart_pull_request
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.rules.errors import ForgeUnavailable

NEWER = sha(9)


@pytest.fixture
def world():
    world = CommentWorld()
    world.opened()
    return world


class TestAllOfIt:
    def test_all_is_planned_again_with_the_base_branch_as_it_is_now(self, world):
        before = set(world.record.layers)
        world.trees[NEWER] = FILES
        world.forge.branches["main"] = NEWER
        world.forge.changes[NEWER, HEAD] = Change(FORK_POINT, None)
        assert "is being planned" in world.comment("tidegate plan")
        assert world.record.execution in world.workflows.planned
        assert world.discover()[0] == "plan"
        assert world.waiting == ["live/app", "live/db"]
        assert {layer.base_sha for layer in world.found} == {NEWER}
        assert before.isdisjoint(world.record.layers)

    def test_it_is_shown_that_the_command_was_understood(self, world):
        world.comment("tidegate plan")
        assert world.forge.reactions == [(70, "rocket")]
        assert world.forge.comments == []

    def test_the_same_comment_again_plans_nothing_again(self, world):
        stored = world.delivery(
            "issue_comment",
            repository=REPOSITORY,
            sender="writer",
            pull_request=NUMBER,
            comment=70,
            text="tidegate plan",
        )
        world.comment("", delivery=stored)
        execution = world.record.execution
        command = PlanRequest(stored.id, "writer")
        world.follow(request=command)
        assert world.record.execution == execution

    def test_what_still_runs_is_stopped_for_it(self, world):
        world.comment("tidegate plan")
        world.discover()
        world.comment("tidegate plan")
        assert "Replanning started." in [shown.title for _, shown in world.forge.updates]
        world.discover()
        assert world.waiting == ["live/app", "live/db"]

    def test_a_pull_request_that_nobody_told_of_is_planned(self):
        world = CommentWorld()
        world.comment("tidegate plan -p live/app -- -target=a.b")
        world.discover()
        assert world.waiting == ["live/app", "live/db"]
        assert {layer.root.name: layer.options for layer in world.found} == {
            "live/app": ("-target=a.b",),
            "live/db": (),
        }

    def test_a_draft_that_is_not_planned_by_itself_is(self, world):
        world.file(MAIN, "pull_requests: {drafts: false}\n")
        world.pull(is_draft=True, head_sha=HEAD)
        world.comment("tidegate plan")
        assert world.discover()[0] == "plan"

    def test_the_next_commit_is_planned_as_if_nobody_had_asked(self, world):
        world.comment("tidegate plan -- -refresh=false")
        world.trees[NEWER] = world.trees[HEAD]
        world.forge.changes[MAIN, NEWER] = Change(FORK_POINT, None)
        world.pull(head_sha=NEWER)
        world.receive()
        world.discover()
        assert world.record.request is None
        assert {layer.options for layer in world.found} == {()}

    def test_what_ended_without_a_result_is_restarted_as_it_was_asked_for(self, world):
        world.comment("tidegate plan -- -refresh=false")
        request = world.record.request
        world.workflows.endings[world.record.execution] = "TIMED_OUT"
        restart_pull_request(world.ports, world.record)
        assert world.record.restarted
        assert world.record.request == request


class TestSomeRoots:
    def test_only_what_is_named_is_planned_and_the_others_keep_their_plans(self, world):
        kept = next(layer for layer in world.found if layer.root.name == "live/db")
        world.comment("tidegate plan -p live/app")
        what, ids = world.discover()
        assert what == "plan"
        assert world.waiting == ["live/app"]
        assert len(ids) == 1
        assert kept in world.found

    @pytest.mark.parametrize("command", ["-d live/app", "name:live/app", "dir:live/a*", "not name:live/db"])
    def test_a_directory_and_a_tag_query_name_roots_too(self, world, command):
        world.comment(f"tidegate plan {command}")
        world.discover()
        assert world.waiting == ["live/app"]

    def test_what_is_kept_is_of_the_same_commits(self, world):
        """The base branch moves: without this, plans of two commits would stand side by side."""
        world.forge.branches["main"] = NEWER
        world.comment("tidegate plan -p live/app")
        world.discover()
        assert {layer.base_sha for layer in world.found} == {MAIN}

    def test_where_the_head_moved_all_is_planned(self, world):
        world.trees[NEWER] = world.trees[HEAD]
        world.forge.changes[MAIN, NEWER] = world.forge.changes["main", NEWER] = Change(FORK_POINT, None)
        world.pull(head_sha=NEWER)
        world.comment("tidegate plan -p live/app")
        world.discover()
        assert world.waiting == ["live/app", "live/db"]

    def test_what_was_stopped_in_between_is_planned_as_well(self, world):
        world.comment("tidegate plan")
        world.discover()
        world.comment("tidegate plan -p live/app")
        world.discover()
        assert world.waiting == ["live/app", "live/db"]

    def test_a_root_that_the_pull_request_does_not_change_is_planned_when_it_is_named(self, world):
        world.trees[FORK_POINT] = world.trees[MAIN] = {**FILES, "live/net/main.tf": ""}
        world.trees[HEAD] = {**world.trees[HEAD], "live/net/main.tf": ""}
        world.comment("tidegate plan -p live/net")
        world.discover()
        (layer,) = [layer for layer in world.found if layer.root.name == "live/net"]
        assert world.waiting == ["live/net"]
        assert layer.is_extra
        assert layer.why == "Planned on request. The merge does not deploy it."
        assert world.names == ["live/app", "live/db", "live/net"]
        world.planned()
        world.comment("tidegate plan -p live/app")
        world.discover()
        assert world.names == ["live/app", "live/db", "live/net"]
        assert world.waiting == ["live/app"]

    def test_options_are_those_of_the_roots_that_were_asked_for(self, world):
        world.comment("tidegate plan -p live/app -- -target=a.b")
        world.discover()
        options = {layer.root.name: layer.options for layer in world.found}
        assert options == {"live/app": ("-target=a.b",), "live/db": ()}
        (step,) = [
            step for layer in world.found if layer.root.name == "live/app" for step in layer.run.plan if step.extra_args
        ]
        assert step.extra_args == ("-target=a.b",)


class TestRootsThatOnlyPeoplePlan:
    TEXT = "dirs:\n  live/app: {when_modified: {file_patterns: ['**/*.tf'], autoplan: false}}\n  live/db: {}\n"

    @pytest.fixture
    def world(self):
        world = CommentWorld()
        for commit in (FORK_POINT, MAIN, HEAD):
            world.file(commit, self.TEXT)
        world.opened()
        return world

    def test_they_are_left_out_until_somebody_asks(self, world):
        assert world.names == ["live/db"]
        assert "autoplan: false" in world.record.notes
        assert world.record.notice == ""

    @pytest.mark.parametrize("command", ["", "-p live/app", "-d live/app"])
    def test_whoever_asks_has_them_planned(self, world, command):
        world.comment(f"tidegate plan {command}".strip())
        world.discover()
        assert world.names == ["live/app", "live/db"]
        assert {layer.root.name: layer.is_extra for layer in world.found} == {"live/app": True, "live/db": False}

    def test_they_stay_while_others_are_asked_for(self, world):
        world.comment("tidegate plan -p live/app")
        world.discover()
        world.planned()
        world.comment("tidegate plan -p live/db")
        world.discover()
        assert world.names == ["live/app", "live/db"]
        assert world.waiting == ["live/db"]

    def test_they_are_not_planned_for_who_asks_for_others(self, world):
        world.comment("tidegate plan -p live/db")
        world.discover()
        assert world.names == ["live/db"]


class TestRefusals:
    def refused(self, world, command="tidegate plan", by="writer"):
        execution = world.record.execution
        assert world.comment(command, by).startswith("Refused:")
        assert world.record.execution == execution
        assert world.forge.reactions == [(70, "confused")]
        return world.reply

    def test_who_may_not_write_may_not_plan(self, world):
        assert "`reader` has no write permission" in self.refused(world, by="reader")

    def test_who_is_not_granted_the_plan_may_not(self, world):
        policies = "access_control:\n  policies:\n    - {tag_query: 'name:live/db', plan: ['*']}\n"
        world.file(MAIN, policies + "    - {tag_query: '', plan: ['user:boss']}\n")
        assert "live/app" in self.refused(world)

    def test_roots_of_one_stack_with_rules_of_their_own_are_judged_each(self, world):
        stacks = "stacks: {names: {all: {tag_query: ''}}}\n"
        policies = "access_control:\n  policies:\n    - {tag_query: 'name:live/app', plan: ['*']}\n"
        world.file(MAIN, stacks + policies + "    - {tag_query: '', plan: ['user:boss']}\n")
        reply = self.refused(world)
        assert "live/db" in reply
        assert "live/app" not in reply

    def test_who_is_granted_the_plan_may_without_the_right_to_write(self, world):
        world.file(MAIN, "access_control:\n  policies:\n    - {tag_query: '', plan: ['user:reader']}\n")
        world.comment("tidegate plan", by="reader")
        assert world.forge.reactions == [(70, "rocket")]

    @pytest.mark.parametrize(
        ("command", "words"),
        [
            ("-- -destroy", "`-destroy` is not in `pull_requests.allowed_plan_args`"),
            ("-- -out=x", "is not allowed: Tidegate sets that"),
            ("-p live/ap", "Did you mean `live/app`?"),
            ("-d modules", "No root is in `modules`."),
            ("-d live/ap", "No root is in `live/ap`. Did you mean `live/app`?"),
            ("-d liv", "Did you mean `live`?"),
            ("-d modules", "It changes:\n\n- of stack `default`: `live/app`, `live/db`\n\nTo have a root"),
            ("staging", "None of the changed roots matches. No root has the tag `staging`."),
            ("stack_name:defualt", "No root has the tag `stack_name:defualt`. Did you mean `stack_name:default`?"),
            ("default", "Did you mean `stack_name:default`?"),
            ("stack_nam:default", "Did you mean `stack_name:default`?"),
            ("name:live/app and name:live/db", "matches.\n\nIt changes:"),
        ],
    )
    def test_what_cannot_be_planned_is_said_with_what_can(self, world, command, words):
        assert words in self.refused(world, f"tidegate plan {command}")

    def test_options_are_allowed_by_the_default_branch_only(self, world):
        world.file(HEAD, "pull_requests: {allowed_plan_args: ['-destroy']}\n")
        assert "`-destroy`" in self.refused(world, "tidegate plan -- -destroy")

    def test_options_that_the_default_branch_allows_are_given(self, world):
        world.file(MAIN, "pull_requests: {allowed_plan_args: ['-destroy']}\n")
        world.comment("tidegate plan -- -destroy")
        assert world.record.request.options == ("-destroy",)

    def test_a_root_that_the_file_refuses_is_not_planned(self, world):
        stacks = "stacks:\n  names:\n    a: {tag_query: ''}\n    b: {tag_query: 'name:live/app'}\n"
        world.file(MAIN, stacks)
        world.file(HEAD, stacks)
        assert "live/app" in self.refused(world, "tidegate plan -p live/app")

    def test_a_pull_request_that_changes_nothing_has_nothing_to_plan(self, world):
        world.trees[HEAD] = FILES
        assert "changes no root" in self.refused(world)
        world.forge.comments.clear()
        world.forge.reactions.clear()
        assert "It does not change any root." in self.refused(world, "tidegate plan -d live")

    def test_forks_and_branches_that_do_not_count_are_not_planned(self, world):
        world.pull(base="other")
        assert "are not planned" in self.refused(world)
        world.forge.comments.clear()
        world.forge.reactions.clear()
        world.pull(base="main", from_fork=True)
        assert "comes from a fork" in self.refused(world)

    def test_what_is_closed_is_not_planned(self, world):
        world.pull(is_open=False)
        assert "is closed. Reopen it" in self.refused(world)

    def test_what_is_merged_is_not_planned_and_nobody_is_told_to_reopen_it(self, world):
        world.pull(is_open=False, merged=True)
        reply = self.refused(world)
        assert "is merged already. Push a new branch" in reply
        assert "Reopen" not in reply

    def test_a_file_that_cannot_be_used_is_told(self, world):
        world.file(MAIN, "root: []\n")
        assert "tidegate.yaml" in self.refused(world)

    def test_what_the_forge_puts_off_is_done_later(self, world):
        world.forge.failures = [ForgeUnavailable("GitHub", "down")]
        with pytest.raises(ForgeUnavailable):
            world.comment("tidegate plan")

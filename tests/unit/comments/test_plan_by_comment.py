"""What ``plan`` in a comment does to a pull request: what is planned again, what stays, and who is refused."""

from __future__ import annotations

import pytest

from tests.builders import REPOSITORY, sha
from tests.unit.comments.comment_scenario import CommentScenario
from tests.unit.pull_requests.pull_request_scenario import FILES, FORK_POINT, HEAD, MAIN, NUMBER
from tidegate.ports import Change
from tidegate.pull_requests.restart_pull_request import restart_pull_request
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.rules.errors import ForgeUnavailable

NEWER = sha(9)


@pytest.fixture
def scenario():
    scenario = CommentScenario()
    scenario.opened()
    return scenario


class TestAllOfIt:
    def test_all_is_planned_again_with_the_base_branch_as_it_is_now(self, scenario):
        before = set(scenario.record.layers)
        scenario.trees[NEWER] = FILES
        scenario.forge.branches["main"] = NEWER
        scenario.forge.changes[NEWER, HEAD] = Change(FORK_POINT, None)
        assert "is being planned" in scenario.comment("tidegate plan")
        assert scenario.record.execution in scenario.workflows.planned
        assert scenario.discover()[0] == "plan"
        assert scenario.waiting == ["live/app", "live/db"]
        assert {layer.base_sha for layer in scenario.found} == {NEWER}
        assert before.isdisjoint(scenario.record.layers)

    def test_it_is_shown_that_the_command_was_understood(self, scenario):
        scenario.comment("tidegate plan")
        assert scenario.forge.reactions == [(70, "rocket")]
        assert scenario.forge.comments == []

    def test_the_same_comment_again_plans_nothing_again(self, scenario):
        stored = scenario.delivery(
            "issue_comment",
            repository=REPOSITORY,
            sender="writer",
            pull_request=NUMBER,
            comment=70,
            text="tidegate plan",
        )
        scenario.comment("", delivery=stored)
        execution = scenario.record.execution
        command = PlanRequest(stored.id, "writer")
        scenario.follow(request=command)
        assert scenario.record.execution == execution

    def test_what_still_runs_is_stopped_for_it(self, scenario):
        scenario.comment("tidegate plan")
        scenario.discover()
        scenario.comment("tidegate plan")
        assert "Replanning started." in [shown.title for _, shown in scenario.forge.updates]
        scenario.discover()
        assert scenario.waiting == ["live/app", "live/db"]

    def test_a_pull_request_that_nobody_told_of_is_planned(self):
        scenario = CommentScenario()
        scenario.comment("tidegate plan -p live/app -- -target=a.b")
        scenario.discover()
        assert scenario.waiting == ["live/app", "live/db"]
        assert {layer.root.name: layer.options for layer in scenario.found} == {
            "live/app": ("-target=a.b",),
            "live/db": (),
        }

    def test_a_draft_that_is_not_planned_by_itself_is(self, scenario):
        scenario.file(MAIN, "pull_requests: {drafts: false}\n")
        scenario.pull(is_draft=True, head_sha=HEAD)
        scenario.comment("tidegate plan")
        assert scenario.discover()[0] == "plan"

    def test_the_next_commit_is_planned_as_if_nobody_had_asked(self, scenario):
        scenario.comment("tidegate plan -- -refresh=false")
        scenario.trees[NEWER] = scenario.trees[HEAD]
        scenario.forge.changes[MAIN, NEWER] = Change(FORK_POINT, None)
        scenario.pull(head_sha=NEWER)
        scenario.receive()
        scenario.discover()
        assert scenario.record.request is None
        assert {layer.options for layer in scenario.found} == {()}

    def test_what_ended_without_a_result_is_restarted_as_it_was_asked_for(self, scenario):
        scenario.comment("tidegate plan -- -refresh=false")
        request = scenario.record.request
        scenario.workflows.endings[scenario.record.execution] = "TIMED_OUT"
        restart_pull_request(scenario.ports, scenario.record)
        assert scenario.record.restarted
        assert scenario.record.request == request


class TestSomeRoots:
    def test_only_what_is_named_is_planned_and_the_others_keep_their_plans(self, scenario):
        kept = next(layer for layer in scenario.found if layer.root.name == "live/db")
        scenario.comment("tidegate plan -p live/app")
        what, ids = scenario.discover()
        assert what == "plan"
        assert scenario.waiting == ["live/app"]
        assert len(ids) == 1
        assert kept in scenario.found

    @pytest.mark.parametrize("command", ["-d live/app", "name:live/app", "dir:live/a*", "not name:live/db"])
    def test_a_directory_and_a_tag_query_name_roots_too(self, scenario, command):
        scenario.comment(f"tidegate plan {command}")
        scenario.discover()
        assert scenario.waiting == ["live/app"]

    def test_what_is_kept_is_of_the_same_commits(self, scenario):
        """The base branch moves: without this, plans of two commits would stand side by side."""
        scenario.forge.branches["main"] = NEWER
        scenario.comment("tidegate plan -p live/app")
        scenario.discover()
        assert {layer.base_sha for layer in scenario.found} == {MAIN}

    def test_where_the_head_moved_all_is_planned(self, scenario):
        scenario.trees[NEWER] = scenario.trees[HEAD]
        scenario.forge.changes[MAIN, NEWER] = scenario.forge.changes["main", NEWER] = Change(FORK_POINT, None)
        scenario.pull(head_sha=NEWER)
        scenario.comment("tidegate plan -p live/app")
        scenario.discover()
        assert scenario.waiting == ["live/app", "live/db"]

    def test_what_was_stopped_in_between_is_planned_as_well(self, scenario):
        scenario.comment("tidegate plan")
        scenario.discover()
        scenario.comment("tidegate plan -p live/app")
        scenario.discover()
        assert scenario.waiting == ["live/app", "live/db"]

    def test_a_root_that_the_pull_request_does_not_change_is_planned_when_it_is_named(self, scenario):
        scenario.trees[FORK_POINT] = scenario.trees[MAIN] = {**FILES, "live/net/main.tf": ""}
        scenario.trees[HEAD] = {**scenario.trees[HEAD], "live/net/main.tf": ""}
        scenario.comment("tidegate plan -p live/net")
        scenario.discover()
        (layer,) = [layer for layer in scenario.found if layer.root.name == "live/net"]
        assert scenario.waiting == ["live/net"]
        assert layer.is_extra
        assert layer.why == "Planned on request. The merge does not deploy it."
        assert scenario.names == ["live/app", "live/db", "live/net"]
        scenario.planned()
        scenario.comment("tidegate plan -p live/app")
        scenario.discover()
        assert scenario.names == ["live/app", "live/db", "live/net"]
        assert scenario.waiting == ["live/app"]

    def test_options_are_those_of_the_roots_that_were_asked_for(self, scenario):
        scenario.comment("tidegate plan -p live/app -- -target=a.b")
        scenario.discover()
        options = {layer.root.name: layer.options for layer in scenario.found}
        assert options == {"live/app": ("-target=a.b",), "live/db": ()}
        (step,) = [
            step
            for layer in scenario.found
            if layer.root.name == "live/app"
            for step in layer.run.plan
            if step.extra_args
        ]
        assert step.extra_args == ("-target=a.b",)


class TestRootsThatOnlyPeoplePlan:
    TEXT = "dirs:\n  live/app: {when_modified: {file_patterns: ['**/*.tf'], autoplan: false}}\n  live/db: {}\n"

    @pytest.fixture
    def scenario(self):
        scenario = CommentScenario()
        for commit in (FORK_POINT, MAIN, HEAD):
            scenario.file(commit, self.TEXT)
        scenario.opened()
        return scenario

    def test_they_are_left_out_until_somebody_asks(self, scenario):
        assert scenario.names == ["live/db"]
        assert "autoplan: false" in scenario.record.notes
        assert scenario.record.notice == ""

    @pytest.mark.parametrize("command", ["", "-p live/app", "-d live/app"])
    def test_whoever_asks_has_them_planned(self, scenario, command):
        scenario.comment(f"tidegate plan {command}".strip())
        scenario.discover()
        assert scenario.names == ["live/app", "live/db"]
        assert {layer.root.name: layer.is_extra for layer in scenario.found} == {"live/app": True, "live/db": False}

    def test_they_stay_while_others_are_asked_for(self, scenario):
        scenario.comment("tidegate plan -p live/app")
        scenario.discover()
        scenario.planned()
        scenario.comment("tidegate plan -p live/db")
        scenario.discover()
        assert scenario.names == ["live/app", "live/db"]
        assert scenario.waiting == ["live/db"]

    def test_they_are_not_planned_for_who_asks_for_others(self, scenario):
        scenario.comment("tidegate plan -p live/db")
        scenario.discover()
        assert scenario.names == ["live/db"]


class TestRefusals:
    def refused(self, scenario, command="tidegate plan", by="writer"):
        execution = scenario.record.execution
        assert scenario.comment(command, by).startswith("Refused:")
        assert scenario.record.execution == execution
        assert scenario.forge.reactions == [(70, "confused")]
        return scenario.reply

    def test_who_may_not_write_may_not_plan(self, scenario):
        assert "`reader` has no write permission" in self.refused(scenario, by="reader")

    def test_who_is_not_granted_the_plan_may_not(self, scenario):
        policies = "access_control:\n  policies:\n    - {tag_query: 'name:live/db', plan: ['*']}\n"
        scenario.file(MAIN, policies + "    - {tag_query: '', plan: ['user:boss']}\n")
        assert "live/app" in self.refused(scenario)

    def test_roots_of_one_stack_with_rules_of_their_own_are_judged_each(self, scenario):
        stacks = "stacks: {names: {all: {tag_query: ''}}}\n"
        policies = "access_control:\n  policies:\n    - {tag_query: 'name:live/app', plan: ['*']}\n"
        scenario.file(MAIN, stacks + policies + "    - {tag_query: '', plan: ['user:boss']}\n")
        reply = self.refused(scenario)
        assert "live/db" in reply
        assert "live/app" not in reply

    def test_who_is_granted_the_plan_may_without_the_right_to_write(self, scenario):
        scenario.file(MAIN, "access_control:\n  policies:\n    - {tag_query: '', plan: ['user:reader']}\n")
        scenario.comment("tidegate plan", by="reader")
        assert scenario.forge.reactions == [(70, "rocket")]

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
    def test_what_cannot_be_planned_is_said_with_what_can(self, scenario, command, words):
        assert words in self.refused(scenario, f"tidegate plan {command}")

    def test_options_are_allowed_by_the_default_branch_only(self, scenario):
        scenario.file(HEAD, "pull_requests: {allowed_plan_args: ['-destroy']}\n")
        assert "`-destroy`" in self.refused(scenario, "tidegate plan -- -destroy")

    def test_options_that_the_default_branch_allows_are_given(self, scenario):
        scenario.file(MAIN, "pull_requests: {allowed_plan_args: ['-destroy']}\n")
        scenario.comment("tidegate plan -- -destroy")
        assert scenario.record.request.options == ("-destroy",)

    def test_a_root_that_the_file_refuses_is_not_planned(self, scenario):
        stacks = "stacks:\n  names:\n    a: {tag_query: ''}\n    b: {tag_query: 'name:live/app'}\n"
        scenario.file(MAIN, stacks)
        scenario.file(HEAD, stacks)
        assert "live/app" in self.refused(scenario, "tidegate plan -p live/app")

    def test_a_pull_request_that_changes_nothing_has_nothing_to_plan(self, scenario):
        scenario.trees[HEAD] = FILES
        assert "changes no root" in self.refused(scenario)
        scenario.forge.comments.clear()
        scenario.forge.reactions.clear()
        assert "It does not change any root." in self.refused(scenario, "tidegate plan -d live")

    def test_forks_and_branches_that_do_not_count_are_not_planned(self, scenario):
        scenario.pull(base="other")
        assert "are not planned" in self.refused(scenario)
        scenario.forge.comments.clear()
        scenario.forge.reactions.clear()
        scenario.pull(base="main", from_fork=True)
        assert "comes from a fork" in self.refused(scenario)

    def test_what_is_closed_is_not_planned(self, scenario):
        scenario.pull(is_open=False)
        assert "is closed. Reopen it" in self.refused(scenario)

    def test_what_is_merged_is_not_planned_and_nobody_is_told_to_reopen_it(self, scenario):
        scenario.pull(is_open=False, merged=True)
        reply = self.refused(scenario)
        assert "is merged already. Push a new branch" in reply
        assert "Reopen" not in reply

    def test_a_file_that_cannot_be_used_is_told(self, scenario):
        scenario.file(MAIN, "root: []\n")
        assert "tidegate.yaml" in self.refused(scenario)

    def test_what_the_forge_puts_off_is_done_later(self, scenario):
        scenario.forge.failures = [ForgeUnavailable("GitHub", "down")]
        with pytest.raises(ForgeUnavailable):
            scenario.comment("tidegate plan")

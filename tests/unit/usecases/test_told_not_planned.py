"""What a pull request is told of in place of plans, and which pull requests are not planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.usecases.pull_request_world import (
    FILES,
    FORK_POINT,
    HEAD,
    MAIN,
    PullRequestWorld,
    changes,
    opened,
)
from tidegate.pull_requests import affected_layers
from tidegate.pull_requests.rules.record import PullRequestState


@pytest.fixture
def world():
    return PullRequestWorld()


SETS = "policy_sets: {security: {paths: [policies]}}\n"


class TestWhatIsOnlyTold:
    def told(self, world):
        what, ids = opened(world)
        assert ids == ()
        assert list(world.found) == []
        return what, world.record.notice

    def test_a_fork_is_not_run(self, world):
        world.pull(from_fork=True)
        what, notice = self.told(world)
        assert what == "comment"
        assert "comes from a fork" in notice
        assert world.record.state is PullRequestState.COMMENT_NEEDED

    def test_a_fork_is_held_up_where_policy_sets_would_judge_it(self, world):
        world.pull(from_fork=True)
        self.told(world)
        assert not world.record.guarded
        world.file(MAIN, SETS)
        world.follow(again=True)
        world.discover()
        assert world.record.guarded
        assert "blocks the merge" in world.record.notice

    def test_a_fork_is_held_up_while_nobody_knows_whether_policy_sets_would_judge_it(self, world):
        world.file(MAIN, "version: 1\nroot: []\n")
        world.pull(from_fork=True)
        self.told(world)
        assert world.record.guarded

    @pytest.mark.parametrize("place", [MAIN, HEAD])
    def test_a_file_that_cannot_be_used_is_told_with_its_line(self, world, place):
        world.file(place, "version: 1\nroot: []\n")
        what, notice = self.told(world)
        assert what == "comment"
        assert "tidegate.yaml:2" in notice

    def test_stacks_that_wait_for_each_other_are_told(self, world):
        text = "dirs:\n" + "".join(
            f"  live/{own}: {{when_modified: {{depends_on: 'dir:live/{other}'}}}}\n"
            for own, other in (("app", "db"), ("db", "app"))
        )
        changes(world, {"live/app/main.tf": "#"}, {**FILES, "tidegate.yaml": text})
        what, notice = self.told(world)
        assert what == "comment"
        assert "dependency cycle" in notice

    def test_branches_without_a_common_commit_are_told(self, world):
        world.forge.changes.clear()
        what, notice = self.told(world)
        assert what == "comment"
        assert "Rebase the branch" in notice

    def test_too_many_roots_are_told_and_none_is_planned(self, world, monkeypatch):
        monkeypatch.setattr(affected_layers, "MOST_LAYERS", 1)
        changes(world, {"live/app/main.tf": "#", "live/db/main.tf": "#"})
        what, notice = self.told(world)
        assert what == "comment"
        assert "affects 2 roots" in notice

    def test_no_root_is_green_without_a_comment(self, world):
        changes(world, {"README.md": "new"})
        assert self.told(world) == ("nothing", "")
        assert world.record.state is PullRequestState.IDLE
        assert world.checks == [(HEAD, "No root would change")]

    def test_what_was_commented_before_is_brought_up_to_date_without_roots_too(self, world):
        changes(world, {"README.md": "new"})
        world.receive()
        world.records.save(replace(world.record, comments=(("default", 7),)))
        assert world.discover()[0] == "comment"

    def test_what_is_told_of_very_many_directories_fits_into_a_record_and_counts_the_rest(self, world):
        gone = {f"live/{'x' * 900}-{number:04}/main.tf": None for number in range(1000)}
        misnamed = {f"live/a&b-{number:04}/main.tf": "" for number in range(1000)}
        for commit in (FORK_POINT, MAIN):
            world.trees[commit] = {**FILES, **dict.fromkeys(gone, "")}
        world.trees[HEAD] = {**FILES, **misnamed, "live/app/main.tf": "# new"}
        world.receive()
        assert world.discover()[0] == "plan"
        for told in (world.record.notice, world.record.notes):
            assert len(told) < 100_000
            assert told.endswith("There are 800 more of these.")
            assert told.count("\n") == 200

    def test_a_directory_that_holds_no_root_any_more_is_told(self, world):
        changes(world, {"live/app/main.tf": None})
        assert opened(world)[0] == "plan"
        assert [layer.gone for layer in world.found] == [True]
        assert world.record.notice == ""
        assert "live/app" in world.record.notes

    def test_a_root_that_cannot_be_judged_is_told_beside_those_that_are_planned(self, world):
        world.trees[HEAD] = {**FILES, "live/app/main.tf": "#", "live/my app/main.tf": ""}
        what, _ = opened(world)
        assert what == "plan"
        assert "my app" in world.record.notice


class TestDraftsAndBranches:
    def test_drafts_are_planned_unless_the_default_branch_says_otherwise(self, world):
        world.pull(is_draft=True)
        assert opened(world)[0] == "plan"

    def test_a_draft_that_is_not_planned_says_so_until_it_is_ready(self, world):
        for commit, drafts in ((FORK_POINT, "false"), (MAIN, "false"), (HEAD, "true")):
            world.file(commit, f"pull_requests: {{drafts: {drafts}}}\n")
        world.pull(is_draft=True)
        assert opened(world) == ("nothing", ())
        assert (world.record.skipped, world.record.state) == (True, PullRequestState.IDLE)
        assert "is a draft" in world.record.notice
        world.pull(is_draft=False)
        world.receive(action="ready_for_review")
        assert world.discover()[0] == "plan"
        assert (world.record.skipped, world.record.notice) == (False, "")

    def test_a_draft_that_is_not_planned_is_held_up_where_policy_sets_would_judge_it(self, world):
        world.file(MAIN, "pull_requests: {drafts: false}\n" + SETS)
        world.pull(is_draft=True)
        opened(world)
        assert (world.record.skipped, world.record.guarded) == (True, True)
        world.pull(is_draft=False)
        world.receive(action="ready_for_review")
        world.discover()
        assert (world.record.skipped, world.record.guarded) == (False, False)

    def test_pull_requests_to_other_branches_are_not_planned_unless_the_file_names_them(self, world):
        world.forge.branches["release"] = MAIN
        world.pull(base="release")
        assert opened(world) == ("nothing", ())
        assert "destination_branches" in world.record.notice
        world.file(MAIN, "destination_branches: [release]\n")
        world.follow(again=True)
        assert world.discover()[0] == "plan"

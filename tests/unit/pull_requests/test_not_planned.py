"""What a pull request is told of in place of plans, and which pull requests are not planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.pull_requests.pull_request_scenario import (
    FILES,
    FORK_POINT,
    HEAD,
    MAIN,
    PullRequestScenario,
    changes,
    opened,
)
from tidegate.pull_requests import affected_layers
from tidegate.pull_requests.rules.record import PullRequestState


@pytest.fixture
def scenario():
    return PullRequestScenario()


SETS = "policy_sets: {security: {paths: [policies]}}\n"


class TestWhatIsOnlyTold:
    def told(self, scenario):
        what, ids = opened(scenario)
        assert ids == ()
        assert list(scenario.found) == []
        return what, scenario.record.notice

    def test_a_fork_is_not_run(self, scenario):
        scenario.pull(from_fork=True)
        what, notice = self.told(scenario)
        assert what == "comment"
        assert "comes from a fork" in notice
        assert scenario.record.state is PullRequestState.COMMENT_NEEDED

    def test_a_fork_is_held_up_where_policy_sets_would_judge_it(self, scenario):
        scenario.pull(from_fork=True)
        self.told(scenario)
        assert not scenario.record.guarded
        scenario.file(MAIN, SETS)
        scenario.follow(again=True)
        scenario.discover()
        assert scenario.record.guarded
        assert "blocks the merge" in scenario.record.notice

    def test_a_fork_is_held_up_while_nobody_knows_whether_policy_sets_would_judge_it(self, scenario):
        scenario.file(MAIN, "version: 1\nroot: []\n")
        scenario.pull(from_fork=True)
        self.told(scenario)
        assert scenario.record.guarded

    @pytest.mark.parametrize("place", [MAIN, HEAD])
    def test_a_file_that_cannot_be_used_is_told_with_its_line(self, scenario, place):
        scenario.file(place, "version: 1\nroot: []\n")
        what, notice = self.told(scenario)
        assert what == "comment"
        assert "tidegate.yaml:2" in notice

    def test_stacks_that_wait_for_each_other_are_told(self, scenario):
        text = "dirs:\n" + "".join(
            f"  live/{own}: {{when_modified: {{depends_on: 'dir:live/{other}'}}}}\n"
            for own, other in (("app", "db"), ("db", "app"))
        )
        changes(scenario, {"live/app/main.tf": "#"}, {**FILES, "tidegate.yaml": text})
        what, notice = self.told(scenario)
        assert what == "comment"
        assert "dependency cycle" in notice

    def test_branches_without_a_common_commit_are_told(self, scenario):
        scenario.forge.changes.clear()
        what, notice = self.told(scenario)
        assert what == "comment"
        assert "Rebase the branch" in notice

    def test_too_many_roots_are_told_and_none_is_planned(self, scenario, monkeypatch):
        monkeypatch.setattr(affected_layers, "MOST_LAYERS", 1)
        changes(scenario, {"live/app/main.tf": "#", "live/db/main.tf": "#"})
        what, notice = self.told(scenario)
        assert what == "comment"
        assert "affects 2 roots" in notice

    def test_no_root_is_green_without_a_comment(self, scenario):
        changes(scenario, {"README.md": "new"})
        assert self.told(scenario) == ("nothing", "")
        assert scenario.record.state is PullRequestState.IDLE
        assert scenario.checks == [(HEAD, "No root would change")]

    def test_what_was_commented_before_is_brought_up_to_date_without_roots_too(self, scenario):
        changes(scenario, {"README.md": "new"})
        scenario.receive()
        scenario.records.save(replace(scenario.record, comments=(("default", 7),)))
        assert scenario.discover()[0] == "comment"

    def test_what_is_told_of_very_many_directories_fits_into_a_record_and_counts_the_rest(self, scenario):
        gone = {f"live/{'x' * 900}-{number:04}/main.tf": None for number in range(1000)}
        misnamed = {f"live/a&b-{number:04}/main.tf": "" for number in range(1000)}
        for commit in (FORK_POINT, MAIN):
            scenario.trees[commit] = {**FILES, **dict.fromkeys(gone, "")}
        scenario.trees[HEAD] = {**FILES, **misnamed, "live/app/main.tf": "# new"}
        scenario.receive()
        assert scenario.discover()[0] == "plan"
        for told in (scenario.record.notice, scenario.record.notes):
            assert len(told) < 100_000
            assert told.endswith("There are 800 more of these.")
            assert told.count("\n") == 200

    def test_a_directory_that_holds_no_root_any_more_is_told(self, scenario):
        changes(scenario, {"live/app/main.tf": None})
        assert opened(scenario)[0] == "plan"
        assert [layer.gone for layer in scenario.found] == [True]
        assert scenario.record.notice == ""
        assert "live/app" in scenario.record.notes

    def test_a_root_that_cannot_be_judged_is_told_beside_those_that_are_planned(self, scenario):
        scenario.trees[HEAD] = {**FILES, "live/app/main.tf": "#", "live/my app/main.tf": ""}
        what, _ = opened(scenario)
        assert what == "plan"
        assert "my app" in scenario.record.notice


class TestDraftsAndBranches:
    def test_drafts_are_planned_unless_the_default_branch_says_otherwise(self, scenario):
        scenario.pull(is_draft=True)
        assert opened(scenario)[0] == "plan"

    def test_a_draft_that_is_not_planned_says_so_until_it_is_ready(self, scenario):
        for commit, drafts in ((FORK_POINT, "false"), (MAIN, "false"), (HEAD, "true")):
            scenario.file(commit, f"pull_requests: {{drafts: {drafts}}}\n")
        scenario.pull(is_draft=True)
        assert opened(scenario) == ("nothing", ())
        assert (scenario.record.skipped, scenario.record.state) == (True, PullRequestState.IDLE)
        assert "is a draft" in scenario.record.notice
        scenario.pull(is_draft=False)
        scenario.receive(action="ready_for_review")
        assert scenario.discover()[0] == "plan"
        assert (scenario.record.skipped, scenario.record.notice) == (False, "")

    def test_a_draft_that_is_not_planned_is_held_up_where_policy_sets_would_judge_it(self, scenario):
        scenario.file(MAIN, "pull_requests: {drafts: false}\n" + SETS)
        scenario.pull(is_draft=True)
        opened(scenario)
        assert (scenario.record.skipped, scenario.record.guarded) == (True, True)
        scenario.pull(is_draft=False)
        scenario.receive(action="ready_for_review")
        scenario.discover()
        assert (scenario.record.skipped, scenario.record.guarded) == (False, False)

    def test_pull_requests_to_other_branches_are_not_planned_unless_the_file_names_them(self, scenario):
        scenario.forge.branches["release"] = MAIN
        scenario.pull(base="release")
        assert opened(scenario) == ("nothing", ())
        assert "destination_branches" in scenario.record.notice
        scenario.file(MAIN, "destination_branches: [release]\n")
        scenario.follow(again=True)
        assert scenario.discover()[0] == "plan"

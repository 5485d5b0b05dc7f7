"""Checks of a pull request that are to run again: it is planned once more, or the pull request says why not."""

from __future__ import annotations

import pytest

from tests.builders import REPOSITORY, sha
from tests.unit.comments.comment_scenario import CommentScenario
from tests.unit.pull_requests.pull_request_scenario import FILES, HEAD, MAIN, NUMBER
from tidegate.comments.plan_by_rerun import plan_by_rerun
from tidegate.rules.errors import ForgeUnavailable


class RerunScenario(CommentScenario):
    """A pull request whose plans are shown, on check runs that have a button to run them again."""

    def again(self, by="writer", head=HEAD, numbers=(NUMBER,), delivery=None):
        where = {"repository": REPOSITORY, "sender": by}
        asked = delivery or self.delivery("replan", **where, head_sha=head, pull_requests=list(numbers))
        return plan_by_rerun(self.ports, asked)


@pytest.fixture
def scenario():
    scenario = RerunScenario()
    scenario.opened()
    return scenario


def test_all_of_the_pull_request_is_planned_again_without_a_word(scenario):
    before = set(scenario.record.layers)
    assert "is being planned" in scenario.again()
    scenario.discover()
    assert scenario.waiting == ["live/app", "live/db"]
    assert before.isdisjoint(scenario.record.layers)
    assert scenario.forge.comments == []


def test_several_checks_of_one_commit_plan_it_once(scenario):
    scenario.again()
    execution = scenario.record.execution
    assert scenario.again() == f"#{NUMBER} is being planned."
    assert scenario.record.execution == execution


def test_the_same_demand_once_more_plans_nothing_again(scenario):
    where = {"repository": REPOSITORY, "sender": "writer"}
    asked = scenario.delivery("replan", **where, head_sha=HEAD, pull_requests=[NUMBER])
    scenario.again(delivery=asked)
    scenario.discover()
    scenario.planned()
    execution = scenario.record.execution
    assert scenario.again(delivery=asked) == "There is nothing else to plan."
    assert scenario.record.execution == execution


def test_an_older_commits_checks_plan_nothing(scenario):
    execution = scenario.record.execution
    assert "a newer head" in scenario.again(head=sha(8))
    assert scenario.record.execution == execution


def test_a_commit_of_no_pull_request_is_told_so(scenario):
    assert scenario.again(numbers=()) == "The commit is not the head of an open pull request."


def test_who_may_not_plan_is_told_in_the_pull_request(scenario):
    execution = scenario.record.execution
    scenario.again(by="reader")
    assert "has no write permission" in scenario.reply
    assert scenario.record.execution == execution


def test_a_pull_request_that_is_gone_is_told_with_its_number(scenario):
    scenario.forge.seen.clear()
    assert f"{NUMBER}" in scenario.again()


def test_a_file_that_cannot_be_used_is_told_in_the_pull_request(scenario):
    scenario.trees[MAIN] = {**FILES, "tidegate.yaml": "version: 3\n"}
    scenario.again()
    assert "tidegate.yaml" in scenario.reply


def test_what_nobody_told_of_before_is_planned():
    scenario = RerunScenario()
    assert "is being planned" in scenario.again()


def test_a_forge_that_does_not_answer_is_asked_again_later(scenario):
    scenario.forge.failures = [ForgeUnavailable("GitHub", "down")]
    with pytest.raises(ForgeUnavailable):
        scenario.again()

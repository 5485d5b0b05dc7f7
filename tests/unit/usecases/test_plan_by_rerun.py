"""Checks of a pull request that are to run again: it is planned once more, or the pull request says why not."""

from __future__ import annotations

import pytest

from tests.builders import REPOSITORY, sha
from tests.unit.usecases.comment_world import CommentWorld
from tests.unit.usecases.pull_request_world import FILES, HEAD, MAIN, NUMBER
from tidegate.comments.plan_by_rerun import plan_by_rerun
from tidegate.rules.errors import ForgeUnavailable


class RerunWorld(CommentWorld):
    """A pull request whose plans are shown, on check runs that have a button to run them again."""

    def again(self, by="writer", head=HEAD, numbers=(NUMBER,), delivery=None):
        where = {"repository": REPOSITORY, "sender": by}
        asked = delivery or self.delivery("replan", **where, head_sha=head, pull_requests=list(numbers))
        return plan_by_rerun(self.ports, asked)


@pytest.fixture
def world():
    world = RerunWorld()
    world.opened()
    return world


def test_all_of_the_pull_request_is_planned_again_without_a_word(world):
    before = set(world.record.layers)
    assert "is being planned" in world.again()
    world.discover()
    assert world.waiting == ["live/app", "live/db"]
    assert before.isdisjoint(world.record.layers)
    assert world.forge.comments == []


def test_several_checks_of_one_commit_plan_it_once(world):
    world.again()
    execution = world.record.execution
    assert world.again() == f"#{NUMBER} is being planned."
    assert world.record.execution == execution


def test_the_same_demand_once_more_plans_nothing_again(world):
    where = {"repository": REPOSITORY, "sender": "writer"}
    asked = world.delivery("replan", **where, head_sha=HEAD, pull_requests=[NUMBER])
    world.again(delivery=asked)
    world.discover()
    world.planned()
    execution = world.record.execution
    assert world.again(delivery=asked) == "There is nothing else to plan."
    assert world.record.execution == execution


def test_an_older_commits_checks_plan_nothing(world):
    execution = world.record.execution
    assert "a newer head" in world.again(head=sha(8))
    assert world.record.execution == execution


def test_a_commit_of_no_pull_request_is_told_so(world):
    assert world.again(numbers=()) == "The commit is no open head."


def test_who_may_not_plan_is_told_in_the_pull_request(world):
    execution = world.record.execution
    world.again(by="reader")
    assert "has no write permission" in world.reply
    assert world.record.execution == execution


def test_a_pull_request_that_is_gone_is_told_with_its_number(world):
    world.forge.seen.clear()
    assert f"{NUMBER}" in world.again()


def test_a_file_that_cannot_be_used_is_told_in_the_pull_request(world):
    world.trees[MAIN] = {**FILES, "tidegate.yaml": "version: 3\n"}
    world.again()
    assert "tidegate.yaml" in world.reply


def test_what_nobody_told_of_before_is_planned():
    world = RerunWorld()
    assert "is being planned" in world.again()


def test_a_forge_that_does_not_answer_is_asked_again_later(world):
    world.forge.failures = [ForgeUnavailable("GitHub", "down")]
    with pytest.raises(ForgeUnavailable):
        world.again()

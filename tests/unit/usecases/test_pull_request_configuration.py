"""What is told of a pull request whose own configuration file, or that of the default branch, cannot be used."""

from __future__ import annotations

import pytest

from tests.unit.usecases.pull_request_world import HEAD, MAIN, PullRequestWorld
from tidegate.vcs.rules.check_run import Conclusion

WRONG = "version: 1\nengine: pulumi\nrots: []\n"


@pytest.fixture
def world():
    world = PullRequestWorld()
    world.receive()
    return world


def told(world):
    """Return the check run on the configuration, None if there is none."""
    return next((each for each in world.forge.check_runs.values() if each.name == "tidegate/config"), None)


def test_each_mistake_of_its_own_file_is_told_also_at_its_line(world):
    world.file(HEAD, WRONG)
    assert world.discover() == ("comment", ())
    check_run = told(world)
    assert (check_run.sha, check_run.conclusion) == (HEAD, Conclusion.FAILURE)
    assert check_run.title == "tidegate.yaml is invalid (2 mistakes, the first on line 2)"
    assert "Correct the file and push" in check_run.summary
    assert [(note.path, note.line) for note in check_run.annotations] == [("tidegate.yaml", 2), ("tidegate.yaml", 3)]
    lead, first, second = world.record.notice.splitlines()
    assert lead == "Its tidegate.yaml is invalid. Correct it and push."
    assert first.startswith("tidegate.yaml:2:9: ")
    assert second.startswith("tidegate.yaml:3:1: ")


def test_a_file_that_can_be_used_is_not_told_of(world):
    world.discover()
    assert told(world) is None


def test_a_head_whose_file_can_be_used_by_now_says_so(world):
    world.file(HEAD, WRONG)
    world.discover()
    world.file(HEAD, "version: 1\n")
    world.follow(again=True)
    world.discover()
    assert (told(world).conclusion, told(world).title) == (Conclusion.SUCCESS, "Valid")
    assert world.record.notice == ""


def test_what_of_its_file_fits_nothing_is_told_until_it_does(world):
    world.file(HEAD, "policy_sets: {acl: {paths: [policies/alc], tag_query: prodd}}\n")
    world.discover()
    assert (told(world).conclusion, told(world).title) == (Conclusion.NEUTRAL, "Valid, with 2 warnings")
    assert "'policies/alc' has no policy" in told(world).summary
    world.file(HEAD, "version: 1\n")
    world.follow(again=True)
    world.discover()
    assert (told(world).conclusion, told(world).title) == (Conclusion.SUCCESS, "Valid")


@pytest.mark.parametrize("changed", [{"is_draft": True}, {"base": "elsewhere"}], ids=["a draft", "not planned"])
def test_mistakes_stay_told_while_the_file_is_not_read_again(world, changed):
    world.file(MAIN, "destination_branches: [main]\npull_requests: {drafts: false}\n")
    world.file(HEAD, WRONG)
    world.discover()
    world.forge.branches["elsewhere"] = MAIN
    world.pull(**changed)
    world.follow(again=True)
    world.discover()
    assert "tidegate.yaml is invalid" not in world.record.notice
    assert told(world).conclusion is Conclusion.FAILURE


def test_mistakes_of_the_default_branch_are_none_of_the_pull_request(world):
    world.file(MAIN, WRONG)
    assert world.discover() == ("comment", ())
    assert told(world) is None
    lead, *mistakes = world.record.notice.splitlines()
    assert "The default branch's tidegate.yaml is invalid" in lead
    assert [each.partition(": ")[0] for each in mistakes] == ["tidegate.yaml:2:9", "tidegate.yaml:3:1"]

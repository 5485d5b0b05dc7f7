"""What is told of a pull request whose own configuration file, or that of the default branch, cannot be used."""

from __future__ import annotations

import pytest

from tests.unit.pull_requests.pull_request_scenario import HEAD, MAIN, PullRequestScenario
from tidegate.vcs.rules.check_run import Conclusion

WRONG = "version: 1\nengine: pulumi\nrots: []\n"


@pytest.fixture
def scenario():
    scenario = PullRequestScenario()
    scenario.receive()
    return scenario


def told(scenario):
    """Return the check run on the configuration, None if there is none."""
    return next((each for each in scenario.forge.check_runs.values() if each.name == "tidegate/config"), None)


def test_each_mistake_of_its_own_file_is_told_also_at_its_line(scenario):
    scenario.file(HEAD, WRONG)
    assert scenario.discover() == ("comment", ())
    check_run = told(scenario)
    assert (check_run.sha, check_run.conclusion) == (HEAD, Conclusion.FAILURE)
    assert check_run.title == "tidegate.yaml is invalid (2 mistakes, the first on line 2)"
    assert "Correct the file and push" in check_run.summary
    assert [(note.path, note.line) for note in check_run.annotations] == [("tidegate.yaml", 2), ("tidegate.yaml", 3)]
    lead, first, second = scenario.record.notice.splitlines()
    assert lead == "Its tidegate.yaml is invalid. Correct it and push."
    assert first.startswith("tidegate.yaml:2:9: ")
    assert second.startswith("tidegate.yaml:3:1: ")


def test_a_file_that_can_be_used_is_not_told_of(scenario):
    scenario.discover()
    assert told(scenario) is None


def test_a_head_whose_file_can_be_used_by_now_says_so(scenario):
    scenario.file(HEAD, WRONG)
    scenario.discover()
    scenario.file(HEAD, "version: 1\n")
    scenario.follow(again=True)
    scenario.discover()
    assert (told(scenario).conclusion, told(scenario).title) == (Conclusion.SUCCESS, "Valid")
    assert scenario.record.notice == ""


def test_what_of_its_file_fits_nothing_is_told_until_it_does(scenario):
    scenario.file(HEAD, "policy_sets: {acl: {paths: [policies/alc], tag_query: prodd}}\n")
    scenario.discover()
    assert (told(scenario).conclusion, told(scenario).title) == (Conclusion.NEUTRAL, "Valid, with 2 warnings")
    assert "'policies/alc' has no policy" in told(scenario).summary
    scenario.file(HEAD, "version: 1\n")
    scenario.follow(again=True)
    scenario.discover()
    assert (told(scenario).conclusion, told(scenario).title) == (Conclusion.SUCCESS, "Valid")


@pytest.mark.parametrize("changed", [{"is_draft": True}, {"base": "elsewhere"}], ids=["a draft", "not planned"])
def test_mistakes_stay_told_while_the_file_is_not_read_again(scenario, changed):
    scenario.file(MAIN, "destination_branches: [main]\npull_requests: {drafts: false}\n")
    scenario.file(HEAD, WRONG)
    scenario.discover()
    scenario.forge.branches["elsewhere"] = MAIN
    scenario.pull(**changed)
    scenario.follow(again=True)
    scenario.discover()
    assert "tidegate.yaml is invalid" not in scenario.record.notice
    assert told(scenario).conclusion is Conclusion.FAILURE


def test_mistakes_of_the_default_branch_are_none_of_the_pull_request(scenario):
    scenario.file(MAIN, WRONG)
    assert scenario.discover() == ("comment", ())
    assert told(scenario) is None
    lead, *mistakes = scenario.record.notice.splitlines()
    assert "The default branch's tidegate.yaml is invalid" in lead
    assert [each.partition(": ")[0] for each in mistakes] == ["tidegate.yaml:2:9", "tidegate.yaml:3:1"]

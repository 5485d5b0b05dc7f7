"""What GitLab says of what its webhooks told, and the fake that stands in for it."""

from __future__ import annotations

import pytest

from tests.fakes import MemoryWebhookVerifier
from tests.instants import utc
from tidegate.ports import Pushed, WrittenComment

AT, MISSING = utc("2026-03-02T08:00"), "d" * 40


def with_a_comment(scenario):
    first = scenario.push({"network/main.tf": "# one\n"})
    head = scenario.push({"network/main.tf": "# two\n"}, "feature", by="developer")
    number = scenario.open("feature")
    project = scenario.person().project(scenario.repository)["id"]
    return (project, scenario.repository), first, head, number, scenario.say(number, "tidegate apply")


@pytest.fixture
def scenario(tmp_path, forges):
    with forges.tried("gitlab-in-groups", tmp_path, with_a_comment) as scenario:
        scenario.where, scenario.first, scenario.head, scenario.number, scenario.note = scenario.made
        yield scenario


@pytest.fixture(params=["gitlab", "memory"])
def verifier(request, scenario):
    if request.param == "gitlab":
        return scenario.forge
    said = WrittenComment("developer", "tidegate apply", AT, AT)
    return MemoryWebhookVerifier(
        {(scenario.number, scenario.note): said}, {("main", scenario.first): Pushed("maintainer")}
    )


def test_a_comment_is_told_with_its_author_and_words(scenario, verifier):
    written = verifier.written_comment(*scenario.where, scenario.number, scenario.note)
    assert (written.author, written.text) == ("developer", "tidegate apply")
    assert written.written_at.tzinfo is not None
    assert written.edited_at == written.written_at


def test_a_comment_that_is_not_there_is_none(scenario, verifier):
    assert verifier.written_comment(*scenario.where, scenario.number, scenario.note + 1000) is None
    assert verifier.written_comment(*scenario.where, scenario.number + 1, scenario.note) is None


def test_a_push_is_told_with_who_made_it(scenario, verifier):
    assert verifier.pushed(*scenario.where, "main", scenario.first) == Pushed("maintainer")


@pytest.mark.parametrize("branch", ["main", "feature"])
def test_a_commit_that_the_default_branch_does_not_have_was_not_pushed(scenario, verifier, branch):
    assert verifier.pushed(*scenario.where, branch, scenario.head) is None
    assert verifier.pushed(*scenario.where, branch, MISSING) is None


def test_who_pushed_a_head_is_told_and_of_others_it_is_not_known(scenario, verifier):
    assert verifier.pusher(*scenario.where, scenario.first) == "maintainer"
    assert verifier.pusher(*scenario.where, MISSING) is None


def test_who_pushed_to_a_branch_of_a_merge_request_is_told_of_this_project_alone(scenario):
    project, repository = scenario.where
    assert scenario.forge.pusher(project, repository, scenario.head) == "developer"
    assert scenario.forge.pusher(project + 1, repository, scenario.head) is None
    assert scenario.forge.pusher(project, "acme/none", scenario.head) is None


def test_what_gitlab_wrote_itself_is_no_comment(scenario):
    scenario.approve(scenario.number)
    path = f"/projects/{scenario.where[0]}/merge_requests/{scenario.number}/notes?sort=asc"
    (own,) = [each["id"] for each in scenario.person().everything(path + "&") if each["system"]]
    assert scenario.forge.written_comment(*scenario.where, scenario.number, own) is None


def test_an_edited_comment_tells_since_when(scenario):
    scenario.person("developer").edit_note(scenario.repository, scenario.number, scenario.note, "tidegate deploy")
    written = scenario.forge.written_comment(*scenario.where, scenario.number, scenario.note)
    assert written.text == "tidegate deploy"
    assert written.edited_at > written.written_at


def test_another_projects_number_or_a_name_in_other_letters_is_no_such_project(scenario):
    project, repository = scenario.where
    assert scenario.forge.written_comment(project + 1, repository, scenario.number, scenario.note) is None
    for where in ((project + 1, repository), (project, repository.upper()), (project, "acme/none")):
        assert scenario.forge.pushed(*where, "main", scenario.first) is None


def test_a_merge_was_pushed_by_who_merged(scenario):
    merged = scenario.merge(scenario.number)
    assert scenario.forge.pushed(*scenario.where, "main", merged) == Pushed("maintainer", scenario.first)
    # It is on the branch, but nobody pushed it there by itself.
    assert scenario.forge.pushed(*scenario.where, "main", scenario.head) == Pushed(None)

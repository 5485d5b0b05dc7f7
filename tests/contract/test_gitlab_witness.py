"""What GitLab says of what its webhooks told, and the fake that stands in for it."""

from __future__ import annotations

import pytest

from tests.fakes import MemoryWebhookVerifier
from tests.instants import utc
from tidegate.ports import Pushed, WrittenComment

AT, MISSING = utc("2026-03-02T08:00"), "d" * 40


def with_a_comment(world):
    first = world.push({"network/main.tf": "# one\n"})
    head = world.push({"network/main.tf": "# two\n"}, "feature", by="developer")
    number = world.open("feature")
    project = world.person().project(world.repository)["id"]
    return (project, world.repository), first, head, number, world.say(number, "tidegate apply")


@pytest.fixture
def world(tmp_path, forges):
    with forges.tried("gitlab-in-groups", tmp_path, with_a_comment) as world:
        world.where, world.first, world.head, world.number, world.note = world.made
        yield world


@pytest.fixture(params=["gitlab", "memory"])
def witness(request, world):
    if request.param == "gitlab":
        return world.forge
    said = WrittenComment("developer", "tidegate apply", AT, AT)
    return MemoryWebhookVerifier({(world.number, world.note): said}, {("main", world.first): Pushed("maintainer")})


def test_a_comment_is_told_with_its_author_and_words(world, witness):
    written = witness.written_comment(*world.where, world.number, world.note)
    assert (written.author, written.text) == ("developer", "tidegate apply")
    assert written.written_at.tzinfo is not None
    assert written.edited_at == written.written_at


def test_a_comment_that_is_not_there_is_none(world, witness):
    assert witness.written_comment(*world.where, world.number, world.note + 1000) is None
    assert witness.written_comment(*world.where, world.number + 1, world.note) is None


def test_a_push_is_told_with_who_made_it(world, witness):
    assert witness.pushed(*world.where, "main", world.first) == Pushed("maintainer")


@pytest.mark.parametrize("branch", ["main", "feature"])
def test_a_commit_that_the_default_branch_does_not_have_was_not_pushed(world, witness, branch):
    assert witness.pushed(*world.where, branch, world.head) is None
    assert witness.pushed(*world.where, branch, MISSING) is None


def test_who_pushed_a_head_is_told_and_of_others_it_is_not_known(world, witness):
    assert witness.pusher(*world.where, world.first) == "maintainer"
    assert witness.pusher(*world.where, MISSING) is None


def test_who_pushed_to_a_branch_of_a_merge_request_is_told_of_this_project_alone(world):
    project, repository = world.where
    assert world.forge.pusher(project, repository, world.head) == "developer"
    assert world.forge.pusher(project + 1, repository, world.head) is None
    assert world.forge.pusher(project, "acme/none", world.head) is None


def test_what_gitlab_wrote_itself_is_no_comment(world):
    world.approve(world.number)
    path = f"/projects/{world.where[0]}/merge_requests/{world.number}/notes?sort=asc"
    (own,) = [each["id"] for each in world.person().everything(path + "&") if each["system"]]
    assert world.forge.written_comment(*world.where, world.number, own) is None


def test_an_edited_comment_tells_since_when(world):
    world.person("developer").edit_note(world.repository, world.number, world.note, "tidegate deploy")
    written = world.forge.written_comment(*world.where, world.number, world.note)
    assert written.text == "tidegate deploy"
    assert written.edited_at > written.written_at


def test_another_projects_number_or_a_name_in_other_letters_is_no_such_project(world):
    project, repository = world.where
    assert world.forge.written_comment(project + 1, repository, world.number, world.note) is None
    for where in ((project + 1, repository), (project, repository.upper()), (project, "acme/none")):
        assert world.forge.pushed(*where, "main", world.first) is None


def test_a_merge_was_pushed_by_who_merged(world):
    merged = world.merge(world.number)
    assert world.forge.pushed(*world.where, "main", merged) == Pushed("maintainer", world.first)
    # It is on the branch, but nobody pushed it there by itself.
    assert world.forge.pushed(*world.where, "main", world.head) == Pushed(None)

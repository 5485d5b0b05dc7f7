"""Comments of our App, told apart from those of others, and changed in place."""

from __future__ import annotations

import pytest

from tests.adapters.github_stub import REPOSITORY, repo
from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.github.forge import AppCredentials, GitHubForge

MARKER = "<!-- ours"


def comment(number, body=f"{MARKER} -->", login="tidegate[bot]", kind="Bot"):
    return {"id": number, "body": body, "user": {"login": login, "type": kind}}


@pytest.fixture
def comments(github):
    def show(*pages):
        github.on("GET", "/app", (200, {"slug": "tidegate"}))
        github.on("GET", repo("issues/5/comments"), *[(200, page) for page in pages])

    return show


def test_only_comments_of_our_app_with_the_marker_are_ours(forge, comments):
    comments(
        [
            comment(1),
            comment(2, login="other[bot]"),
            comment(3, login="tidegate", kind="User"),
            comment(4, body=f"quoted {MARKER} -->"),
            comment(5, body=None),
            {**comment(6), "user": None},
            comment(7, body=f"{MARKER} two -->"),
        ]
    )
    assert forge.our_comments(REPOSITORY, 5, MARKER) == {1: f"{MARKER} -->", 7: f"{MARKER} two -->"}


def test_all_pages_of_comments_are_looked_at(forge, comments, github):
    comments([comment(number, login="other[bot]") for number in range(100)], [comment(100)])
    assert list(forge.our_comments(REPOSITORY, 5, MARKER)) == [100]
    assert len(github.asked("GET", repo("issues/5/comments"))) == 2


def test_the_apps_name_is_asked_for_once(forge, comments, github):
    comments([])
    for _ in range(2):
        assert forge.our_comments(REPOSITORY, 5, MARKER) == {}
    assert len(github.asked("GET", "/app")) == 1


def test_a_comment_is_written_and_changed_in_one_request_each(forge, github):
    github.on("POST", repo("issues/5/comments"), (201, {"id": 11}))
    github.on("PATCH", repo("issues/comments/11"), (200, {"id": 11}))
    assert forge.comment(REPOSITORY, 5, "text") == 11
    forge.update_comment(REPOSITORY, 5, 11, "other")
    assert github.asked("PATCH", repo("issues/comments/11"))[0].body == {"body": "other"}


def test_a_comment_that_was_deleted_is_not_found(forge, github):
    github.on("PATCH", repo("issues/comments/11"), (404, {"message": "Not Found"}), (403, {"message": "Locked"}))
    with pytest.raises(NotFound):
        forge.update_comment(REPOSITORY, 5, 11, "other")
    with pytest.raises(ForgeRefused, match="Locked"):
        forge.update_comment(REPOSITORY, 5, 11, "other")


@pytest.mark.parametrize(("stored", "given"), [("", "somebodys-token"), ("somebodys-token", "")])
def test_comments_may_be_those_of_a_user_with_a_token(github, private_key, stored, given):
    app = AppCredentials("123", private_key[0], stored)
    forge = GitHubForge(lambda: app, url="https://forge.example", api_url=github.url, comment_token=given)
    github.on("GET", "/user", (200, {"login": "robot", "type": "User"}))
    every = [comment(1), comment(2, login="robot", kind="User"), comment(3, login="robot", kind="Bot")]
    github.on("GET", repo("issues/5/comments"), (200, every))
    github.on("POST", repo("issues/5/comments"), (201, {"id": 4}), (401, {"message": "Bad credentials"}))
    assert list(forge.our_comments(REPOSITORY, 5, MARKER)) == [2]
    assert forge.comment(REPOSITORY, 5, "text") == 4
    assert {request.authorization for request in github.received} == {"token somebodys-token"}
    with pytest.raises(ForgeRefused, match="Bad credentials"):
        forge.comment(REPOSITORY, 5, "text")

"""Issues of our App, told apart from those of others, and changed in place."""

from __future__ import annotations

import pytest

from tests.adapters.github_stub import REPOSITORY, repo
from tidegate.rules.errors import ForgeRefused, NotFound

MARKER = "<!-- ours"


def issue(number, body=f"{MARKER} -->", login="tidegate[bot]", **more):
    return {"number": number, "body": body, "user": {"login": login}, **more}


def test_an_issue_is_opened_and_written_in_one_request_each(forge, github):
    github.on("POST", repo("issues"), (201, {"number": 7}))
    github.on("PATCH", repo("issues/7"), (200, {"number": 7}))
    assert forge.open_issue(REPOSITORY, "Drift", "text") == 7
    forge.write_issue(REPOSITORY, 7, "other", is_open=False)
    assert github.asked("POST", repo("issues"))[0].body == {"title": "Drift", "body": "text"}
    assert github.asked("PATCH", repo("issues/7"))[0].body == {"body": "other", "state": "closed"}


@pytest.mark.parametrize("status", [404, 410])
def test_an_issue_that_is_gone_is_not_found(forge, github, status):
    github.on("PATCH", repo("issues/7"), (status, {"message": "This issue was deleted"}))
    with pytest.raises(NotFound):
        forge.write_issue(REPOSITORY, 7, "other", is_open=True)


def test_a_repository_without_issues_refuses(forge, github):
    github.on("POST", repo("issues"), (410, {"message": "Issues has been disabled in this repository."}))
    github.on("PATCH", repo("issues/7"), (403, {"message": "Resource not accessible by integration"}))
    with pytest.raises(ForgeRefused):
        forge.open_issue(REPOSITORY, "Drift", "text")
    with pytest.raises(ForgeRefused):
        forge.write_issue(REPOSITORY, 7, "other", is_open=True)


def test_only_open_issues_of_our_app_with_the_marker_are_ours(forge, github):
    github.on("GET", "/app", (200, {"slug": "tidegate"}))
    others = [issue(number, login="other[bot]") for number in range(95)]
    odd = [issue(95, body=None), {**issue(96), "user": None}, issue(97, pull_request={}), issue(98), issue(99, "no")]
    github.on("GET", repo("issues"), (200, [*others, *odd]), (200, [issue(9)]))
    assert forge.our_issues(REPOSITORY, MARKER) == [9, 98]
    assert len(github.asked("GET", repo("issues"))) == 2

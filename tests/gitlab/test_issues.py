"""Issues: every answer is held against what is published of it (see conftest.Api.call)."""

from __future__ import annotations

import pytest

from tests.gitlab.conftest import IN

ISSUES = f"{IN}/issues"


def opened(api, **more):
    return api.call("POST", ISSUES, {"title": "Drift", "description": "text", **more})


def test_an_issue_is_opened_read_changed_closed_and_opened_again(api, gitlab, sha):
    made = opened(api)
    assert (made["iid"], made["state"], made["author"]["username"]) == (1, "opened", "tidegate-bot")
    path = f"{ISSUES}/1"
    changed = api.call("PUT", path, {"description": "more", "state_event": "close"})
    assert (changed["description"], changed["state"], changed["closed_by"]["username"]) == (
        "more",
        "closed",
        "tidegate-bot",
    )
    assert changed["closed_at"]
    assert api.call("GET", path) == changed
    assert api.call("PUT", path, {"state_event": "close"})["state"] == "closed"
    again = api.call("PUT", path, {"state_event": "reopen"})
    assert (again["state"], again["closed_at"], again["closed_by"]) == ("opened", None, None)


def test_numbers_are_not_those_of_merge_requests(api, iid):
    assert (iid, opened(api)["iid"]) == (1, 1)


def test_issues_are_listed_by_state_author_and_age(api, maintainer, sha):
    first, second = opened(api)["iid"], opened(api)["iid"]
    api.call("PUT", f"{ISSUES}/{first}", {"state_event": "close"})
    theirs = api.call("POST", ISSUES, {"title": "Theirs"}, token="visitor")["iid"]
    bot = api.call("GET", "/user")["id"]

    def listed(query):
        return [one["iid"] for one in api.call("GET", f"{ISSUES}?{query}")]

    assert listed("") == [theirs, second, first]
    assert listed("state=opened&sort=asc") == [second, theirs]
    assert listed(f"state=opened&author_id={bot}") == [second]


@pytest.mark.parametrize(
    "given", [{}, {"title": " "}, {"title": "x" * 256}, {"state_event": "closed"}, {"title": None, "other": 1}]
)
def test_what_gitlab_does_not_take_is_refused(api, sha, given):
    assert api.ask("POST", ISSUES, {"title": None} | given, token="maintainer")[0] == 400 or "state_event" in given
    opened(api)
    assert api.ask("PUT", f"{ISSUES}/1", given, token="maintainer")[0] == 400


def test_quick_actions_in_a_text_are_carried_out_and_taken_out(api, sha):
    made = opened(api, description="look\n/close\nand more")
    assert (made["state"], made["description"]) == ("closed", "look\nand more")


def test_a_stranger_changes_no_issue_of_others(api, sha):
    opened(api)
    assert api.ask("PUT", f"{ISSUES}/1", {"title": "Mine"}, token="outsider")[0] == 404
    for path in (f"{ISSUES}/2", f"{ISSUES}/x"):
        assert api.ask("GET", path, token="maintainer")[::2] == (404, {"message": "404 Not found"})

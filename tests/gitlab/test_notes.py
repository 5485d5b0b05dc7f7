"""Notes below merge requests, and emoji awarded to them."""

from __future__ import annotations

import pytest

from tests.gitlab.conftest import IN, PROJECT


@pytest.fixture
def notes(iid):
    return f"{IN}/merge_requests/{iid}/notes"


def test_a_note_is_written_changed_and_deleted(api, notes):
    note = api.call("POST", notes, {"body": "A plan"})
    assert (note["author"]["username"], note["noteable_iid"], note["system"]) == ("tidegate-bot", 1, False)
    changed = api.call("PUT", f"{notes}/{note['id']}", {"body": "Another plan"})
    assert (changed["id"], changed["body"]) == (note["id"], "Another plan")
    api.call("DELETE", f"{notes}/{note['id']}")
    for method in ("GET", "PUT"):
        absent = api.ask(method, f"{notes}/{note['id']}", {"body": "x"}, token="maintainer")
        assert absent[::2] == (404, {"message": "404 Not found"})


def test_lists_are_newest_first_unless_asked_otherwise_and_hold_gitlabs_own(api, developer, reviewer, iid, notes):
    first = developer.note(PROJECT, iid, "First")
    reviewer.approve(PROJECT, iid)
    last = reviewer.note(PROJECT, iid, "Last")
    found = api.call("GET", f"{notes}?sort=asc&order_by=created_at")
    assert [(one["body"], one["system"]) for one in found] == [
        ("First", False),
        ("approved this merge request", True),
        ("Last", False),
    ]
    assert api.call("GET", notes)[0]["id"] == last
    assert [one["id"] for one in developer.notes(PROJECT, iid)] == [first, last]


def test_others_notes_are_changed_by_maintainers_only(api, developer, iid, notes):
    note = developer.note(PROJECT, iid, "Mine")
    assert api.ask("PUT", f"{notes}/{note}", {"body": "Yours"}, token="visitor")[0] == 403
    assert api.call("PUT", f"{notes}/{note}", {"body": "Ours"}, token="maintainer")["author"]["username"] == "developer"


@pytest.mark.parametrize("body", [{}, {"body": " "}, {"body": "x" * 1_000_001}], ids=["none", "blank", "too long"])
def test_texts_that_cannot_be_are_refused(api, notes, body):
    assert api.ask("POST", notes, body, token="maintainer")[0] == 400


def test_the_longest_note_is_taken(api, notes):
    assert len(api.call("POST", notes, {"body": "x" * 1_000_000})["body"]) == 1_000_000


def test_who_may_see_a_merge_request_may_speak_there(person, iid):
    assert person("visitor").note(PROJECT, iid, "A question")


def test_an_emoji_is_awarded_once(api, developer, iid, notes):
    note = developer.note(PROJECT, iid, "tidegate plan")
    award = api.call("POST", f"{notes}/{note}/award_emoji?name=eyes")
    assert (award["name"], award["awardable_id"]) == ("eyes", note)
    again = api.ask("POST", f"{notes}/{note}/award_emoji", {"name": "eyes"}, token=api._gitlab.bot_token)
    assert again[::2] == (404, {"message": "404 Award Emoji Name has already been taken Not Found"})
    assert api.ask("POST", f"{notes}/{note}/award_emoji", {"name": "no such"}, token="maintainer")[0] == 404
    assert [one["name"] for one in api.call("GET", f"{notes}/{note}/award_emoji")] == ["eyes"]
    assert developer.award_emoji(PROJECT, iid, note) == ["eyes"]

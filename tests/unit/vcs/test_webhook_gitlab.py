"""Which GitLab events are acted on, and what of them is used."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gitlab_events import BEFORE, EVERY, HEAD, PROJECT, ZEROS, merge_request, note, push
from tidegate.rules.errors import InvalidWebhook, UnverifiedWebhook
from tidegate.vcs.rules.decision import Accepted, Ignored, Refused
from tidegate.vcs.rules.gitlab import read_event
from tidegate.vcs.rules.webhook import check_token, event_delivery_id

MERGE, UUID = "Merge Request Hook", "13792a34-cac6-4fda-95a8-c58e00a3954e"
WORDS = {Accepted: "stored", Ignored: "ignored", Refused: "refused"}


@pytest.mark.parametrize(("event", "payload", "result"), EVERY)
def test_each_kind_of_event_has_its_verdict(event, payload, result):
    assert WORDS[type(read_event(event, payload))] == result


def test_a_push_to_the_default_branch_is_a_push():
    assert read_event("Push Hook", push()) == Accepted(
        "push",
        {
            "repository": "acme/platform/infra",
            "project": 77,
            "before": BEFORE,
            "after": HEAD,
            "branch": "main",
            "sender": "developer",
            "forced": None,
            "authors": None,
        },
    )


@pytest.mark.parametrize(
    ("attributes", "changes", "told"),
    [
        ({"action": "open"}, {}, "opened"),
        ({"action": "reopen"}, {}, "reopened"),
        ({"action": "close"}, {}, "closed"),
        ({"action": "merge"}, {}, "closed"),
        ({"action": "update", "oldrev": BEFORE}, {"draft": {}}, "synchronize"),
        ({"action": "update"}, {"target_branch": {}}, "edited"),
        ({"action": "update", "draft": True}, {"draft": {}}, "converted_to_draft"),
        ({"action": "update", "draft": False}, {"draft": {}}, "ready_for_review"),
        ({"action": "update", "draft": False}, {"work_in_progress": {}}, "ready_for_review"),
    ],
)
def test_a_merge_request_is_a_pull_request(attributes, changes, told):
    where = {"repository": "acme/platform/infra", "project": 77, "pull_request": 5, "sender": "developer"}
    found = read_event(MERGE, merge_request(changes=changes, **attributes))
    heads = {"opened": {"before": "", "after": HEAD}, "synchronize": {"before": BEFORE, "after": HEAD}}
    assert found == Accepted("pull_request", {**where, "action": told, **heads.get(told, {})})


def test_of_a_merge_request_that_does_not_tell_its_head_nobody_is_the_pusher():
    found = read_event(MERGE, merge_request(last_commit=None))
    assert not found.fields.keys() & {"before", "after"}


@pytest.mark.parametrize("action", ["approved", "unapproved", "approval", "unapproval"])
def test_an_approval_is_a_review(action):
    found = read_event(MERGE, merge_request(action))
    assert isinstance(found, Accepted)
    assert (found.event, found.fields["pull_request"]) == ("pull_request_review", 5)


@pytest.mark.parametrize("changes", [None, [], "target_branch", {"labels": {}}])
def test_other_changes_change_nothing(changes):
    assert isinstance(read_event(MERGE, {**merge_request("update"), "changes": changes}), Ignored)


@pytest.mark.parametrize("action", [None, 5, ["open"], {"open": 1}, "explode"])
def test_an_action_that_nobody_knows_changes_nothing(action):
    payload = merge_request()
    payload["object_attributes"]["action"] = action
    assert isinstance(read_event(MERGE, payload), Ignored)


def test_a_command_in_a_note_is_a_comment():
    found = read_event("Note Hook", note("  Tidegate\xa0deploy network "))
    assert found == Accepted(
        "issue_comment",
        {
            "repository": "acme/platform/infra",
            "project": 77,
            "pull_request": 5,
            "comment": 4321,
            "text": "Tidegate deploy network",
            "sender": "developer",
            "written_at": "2026-03-02T08:00:00.000000+00:00",
        },
    )


def test_notes_of_older_versions_of_gitlab_do_not_tell_that_they_are_new():
    payload = note()
    del payload["object_attributes"]["action"]
    assert isinstance(read_event("Note Hook", payload), Accepted)


@pytest.mark.parametrize("login", ["project_77_bot", "group_9_bot_0a1b2c", "project_77_bot2", "Project_77_bot_3f"])
def test_bots_of_access_tokens_ask_for_nothing(login):
    payload = {**note(), "user": {"username": login}}
    assert isinstance(read_event("Note Hook", payload), Ignored)


@pytest.mark.parametrize("text", ["tidegate help\nand more", "tidegate " + "x" * 1000])
def test_what_is_no_command_is_ignored(text):
    assert isinstance(read_event("Note Hook", note(text)), Ignored)


def test_other_words_may_begin_commands():
    assert isinstance(read_event("Note Hook", note("atlantis help"), ("atlantis",)), Accepted)


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("Push Hook", push(user_username="$(id)")),
        ("Push Hook", push(after="main")),
        ("Push Hook", push(project={**PROJECT, "path_with_namespace": "acme/../infra"})),
        (MERGE, {**merge_request(), "user": {"username": "a b"}}),
    ],
)
def test_names_that_are_not_accepted_are_refused(event, payload):
    assert isinstance(read_event(event, payload), Refused)


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("Push Hook", {}),
        ("Push Hook", {**push(), "object_kind": "note"}),
        ("Push Hook", {**push(), "project": None}),
        ("Push Hook", push(project={**PROJECT, "id": True})),
        (MERGE, merge_request(iid="5")),
        (MERGE, {**merge_request(), "user": None}),
        (MERGE, {"object_kind": "merge_request"}),
        ("Note Hook", {**note(), "merge_request": None}),
        ("Note Hook", note(note=None)),
    ],
)
def test_an_event_that_lacks_what_its_kind_has_is_refused(event, payload):
    with pytest.raises(InvalidWebhook) as refused:
        read_event(event, payload)
    assert str(refused.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(EVERY), st.data())
def test_whatever_stands_in_place_of_a_field_an_event_is_decided_or_refused(example, data):
    event, payload, _ = example
    payload = json.loads(json.dumps(payload))
    place = payload
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or not place[key] or data.draw(st.booleans()):
            place[key] = data.draw(_JSON)
            break
        place = place[key]
    with contextlib.suppress(InvalidWebhook):
        assert isinstance(read_event(event, payload), Accepted | Ignored | Refused)


@pytest.mark.parametrize("token", ["current", "previous"])
def test_a_token_may_be_any_of_the_secrets(token):
    check_token(token, ["current", "previous"])


@pytest.mark.parametrize("token", [None, "", "curren", "current ", "Current", "\udcff"])
def test_another_token_is_refused(token):
    with pytest.raises(UnverifiedWebhook):
        check_token(token, ["current", "previous"])


def test_without_secrets_no_token_holds():
    with pytest.raises(UnverifiedWebhook):
        check_token("", [])


def test_what_is_sent_again_has_the_same_id_and_what_shares_its_number_another():
    first = event_delivery_id(UUID, "Push Hook", b"{}")
    assert first == event_delivery_id(UUID, "Push Hook", b"{}")
    assert first != event_delivery_id(UUID, "Merge Request Hook", b"{}")
    assert first != event_delivery_id(UUID, "Push Hook", b"{ }")
    assert first.startswith(UUID)
    assert len(event_delivery_id("a" * 64, "Push Hook", b"")) <= 64


@pytest.mark.parametrize("number", [None, "", "1", "a" * 65, "a/b-c-d-e-f"])
def test_an_event_without_a_number_is_refused(number):
    with pytest.raises(InvalidWebhook, match="X-Gitlab-Event-UUID"):
        event_delivery_id(number, "Push Hook", b"")


def test_a_push_of_a_new_branch_is_told_as_such():
    found = read_event("Push Hook", push(before=ZEROS))
    assert isinstance(found, Accepted)
    assert found.fields["before"] == ZEROS

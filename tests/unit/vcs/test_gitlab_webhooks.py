"""GitLab's webhooks on their way: verified by a token, stored once, queued."""

from __future__ import annotations

import json

import pytest

from tests.fakes.scenario import MemoryClock, MemoryEventQueue
from tests.fakes.stores import MemoryDeliveries
from tests.gitlab_events import EVERY, PROJECT, merge_request, note, push
from tests.unit.vcs.webhook_scenario import FakeSecrets
from tidegate.vcs.gitlab_webhooks import GITLAB
from tidegate.vcs.receive_webhook import WebhookReceiver, WebhookRequest

UUID = "13792a34-cac6-4fda-95a8-c58e00a3954e"


@pytest.fixture
def queue():
    return MemoryEventQueue()


@pytest.fixture
def receiver(queue):
    return WebhookReceiver(FakeSecrets(), MemoryDeliveries(), queue, MemoryClock(), dialect=GITLAB)


def request(payload=None, *, event="Push Hook", token="current", uuid=UUID, body=None):
    content = json.dumps(push() if payload is None else payload).encode() if body is None else body
    return WebhookRequest(content, token, event, uuid)


def test_every_kind_of_event_is_answered_as_it_should_be(receiver):
    for event, payload, result in EVERY:
        answer = receiver.receive(request(payload, event=event))
        assert (answer.status, answer.result) == (202, result), (event, answer)


def test_a_push_is_stored_and_queued_once_however_often_it_is_sent(receiver, queue):
    assert [receiver.receive(request()).result for _ in range(3)] == ["stored", "duplicate", "duplicate"]
    assert len(queue.sent) == 1


def test_two_events_of_one_number_are_two(receiver, queue):
    receiver.receive(request())
    assert receiver.receive(request(merge_request("merge"), event="Merge Request Hook")).result == "stored"
    assert [each.event for each in queue.sent] == ["push", "pull_request"]


def test_the_same_command_under_another_number_is_the_same(receiver, queue):
    told = [receiver.receive(request(note(), event="Note Hook", uuid=f"{UUID[:-1]}{digit}")) for digit in range(3)]
    assert [answer.result for answer in told] == ["stored", "duplicate", "duplicate"]
    reordered = dict(reversed(note().items()))
    assert receiver.receive(request(reordered, event="Note Hook")).result == "duplicate"
    elsewhere = {**note(), "project": {**PROJECT, "id": 78}}
    assert receiver.receive(request(elsewhere, event="Note Hook")).result == "duplicate"
    assert len(queue.sent) == 1


@pytest.mark.parametrize(
    "other",
    [note("tidegate unlock"), note(id=4322), {**note(), "user": {"username": "owner"}}],
)
def test_another_command_is_not_kept_from_acting_by_one_before_it(receiver, queue, other):
    receiver.receive(request(note(), event="Note Hook"))
    assert receiver.receive(request(other, event="Note Hook")).result == "stored"
    assert len({each.id for each in queue.sent}) == 2


@pytest.mark.parametrize("token", [None, "", "other", "sha256=current"])
def test_a_token_that_does_not_hold_is_refused(receiver, queue, token):
    assert receiver.receive(request(token=token)).status == 401
    assert queue.sent == []


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"\xff", b"{", b"[" * 100_000, b'{"object_kind": "note"}', b"object_kind=push"],
)
def test_what_is_no_event_is_refused(receiver, body):
    assert receiver.receive(request(body=body)).status == 400


@pytest.mark.parametrize("uuid", [None, "", "x", "a" * 200])
def test_an_event_without_a_number_is_refused(receiver, uuid):
    assert receiver.receive(request(uuid=uuid)).status == 400


@pytest.mark.parametrize("event", [None, "", "Push", "push"])
def test_a_kind_that_nobody_knows_is_ignored(receiver, event):
    assert receiver.receive(request(event=event)).result == "ignored"

"""The order of a webhook's steps, whatever arrives twice or dies in between."""

from __future__ import annotations

import threading

import pytest

from tests.fakes.stores import MemoryDeliveries
from tests.instants import utc
from tests.unit.vcs.webhook_scenario import AFTER, DELIVERY, FakeSecrets, Scenario, push
from tidegate.rules.errors import CloudUnavailable
from tidegate.vcs.receive_webhook import QUEUEING_SECONDS, WebhookRequest


@pytest.fixture
def scenario():
    return Scenario()


def test_a_push_is_stored_queued_and_then_acknowledged(scenario):
    answer = scenario.receive(push())
    assert (answer.status, answer.result, answer.repository) == (202, "stored", "acme/infra")
    assert scenario.deliveries.is_queued(DELIVERY)
    assert [(sent.id, sent.event, sent.fields["after"]) for sent in scenario.queue.sent] == [(DELIVERY, "push", AFTER)]


def test_the_same_delivery_twice_is_queued_once(scenario):
    scenario.receive(push())
    answer = scenario.receive(push())
    assert (answer.status, answer.result) == (202, "duplicate")
    assert len(scenario.queue.sent) == 1


def test_the_same_delivery_many_times_at_once_is_stored_once_and_lost_never(scenario):
    start = threading.Barrier(8)
    answers = []

    def deliver():
        start.wait()
        answers.append(scenario.receive(push()))

    threads = [threading.Thread(target=deliver) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status for answer in answers} == {202}
    assert sorted(answer.result for answer in answers) == ["duplicate"] * 7 + ["stored"]
    assert len(scenario.queue.sent) == 1


def test_a_delivery_that_was_stored_and_not_queued_is_queued_when_it_comes_again_as_it_was_stored(scenario):
    scenario.queue.refusals = 1
    with pytest.raises(CloudUnavailable):
        scenario.receive(push())
    assert not scenario.deliveries.is_queued(DELIVERY)
    first = scenario.deliveries.get(DELIVERY)
    scenario.clock.advance(QUEUEING_SECONDS)
    assert scenario.receive(push()).result == "stored"
    assert scenario.queue.sent == [first]


def test_a_copy_leaves_a_delivery_to_whoever_is_queueing_it(scenario):
    scenario.queue.refusals = 1
    with pytest.raises(CloudUnavailable):
        scenario.receive(push())
    assert (scenario.receive(push()).result, scenario.queue.sent) == ("duplicate", [])


def test_when_the_store_fails_nothing_is_acknowledged_or_queued(scenario):
    class Broken(MemoryDeliveries):
        def store(self, delivery):
            raise CloudUnavailable("DynamoDB", "ThrottlingException")

    scenario.deliveries = Broken()
    with pytest.raises(CloudUnavailable):
        scenario.receive(push())
    assert scenario.queue.sent == []


def test_when_marking_fails_the_event_is_queued_and_may_be_queued_again(scenario):
    class Broken(MemoryDeliveries):
        def mark_queued(self, delivery):
            raise CloudUnavailable("DynamoDB", "ThrottlingException")

    scenario.deliveries = Broken()
    with pytest.raises(CloudUnavailable):
        scenario.receive(push())
    assert len(scenario.queue.sent) == 1


def test_without_a_configured_secret_every_request_is_refused(scenario):
    scenario.secrets = FakeSecrets(known=())
    answer = scenario.receive(push(key=""))
    assert (answer.status, answer.result) == (503, "refused")
    assert scenario.queue.sent == []


@pytest.mark.parametrize("signature", [None, "", "sha1=0123", "sha256=" + "0" * 64])
def test_every_wrong_signature_has_the_same_answer_and_stores_nothing(scenario, signature):
    request = push()
    answer = scenario.receive(WebhookRequest(request.body, signature, request.event, request.delivery))
    assert answer == scenario.receive(push(key="wrong"))
    assert (answer.status, answer.result, answer.repository) == (401, "refused", None)
    assert list(scenario.deliveries.unqueued(utc("9999-12-31"))) == []
    assert scenario.queue.sent == []


def test_a_secret_that_was_just_rotated_is_found_by_reading_the_secrets_once_more(scenario):
    scenario.secrets = FakeSecrets(known=("previous",), newer=("current", "previous"))
    assert scenario.receive(push()).result == "stored"
    assert scenario.secrets.refreshes == 1


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (push(body=b"{"), 400),
        (push(body=b'{"ref": "\xff"}'), 400),
        (push(body=b"[" * 100_000), 400),
        (push(body=b"x" * 10_000_000), 413),
        (push(delivery=None), 400),
        (push(delivery="../.."), 400),
        (push(installation=None), 400),
    ],
    ids=["invalid JSON", "invalid UTF-8", "deep JSON", "10 MB", "no delivery id", "odd delivery id", "no installation"],
)
def test_a_request_that_is_no_webhook_is_refused_and_not_stored(scenario, request_, status):
    answer = scenario.receive(request_)
    assert (answer.status, answer.result) == (status, "refused")
    assert scenario.queue.sent == []


def test_an_event_that_is_not_acted_on_is_acknowledged_with_the_reason_and_not_stored(scenario):
    answer = scenario.receive(push(ref="refs/tags/v1"))
    assert (answer.status, answer.result) == (202, "ignored")
    assert "tag" in answer.reason
    assert list(scenario.deliveries.unqueued(utc("9999-12-31"))) == []


def test_a_hostile_name_is_acknowledged_as_refused_with_the_reason(scenario):
    answer = scenario.receive(push(repository={"full_name": "acme/a&&id", "default_branch": "main"}))
    assert (answer.status, answer.result) == (202, "refused")
    assert "a&&id" in answer.reason

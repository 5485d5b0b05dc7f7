"""A delivery is tried until its receiver took it, or for a day, and its record says what became of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, REPOSITORY, amended, any_plan, deployment_in
from tests.unit.notifications.told import OPEN, Told
from tidegate.deploys.rules.state import State
from tidegate.messages.queues import DeliverNotification
from tidegate.notifications.deliver import deliver
from tidegate.notifications.rules.delivery import DeliveryState
from tidegate.rules.errors import Conflict

WAITING = deployment_in(State.AWAITING_REVIEW)


def the(told):
    [delivery] = told.notifications.deliveries(REPOSITORY, 10)
    return delivery


def test_a_receiver_that_fails_for_an_hour_gets_the_message_then_and_the_pauses_grow():
    told = Told("hooks")
    told.clock.at = NOW
    told.receivers.failing = {"hooks": None}
    told.put(WAITING)
    pauses = []
    while told.clock.at < NOW + timedelta(hours=1):
        [seconds] = told.deliver()
        pauses.append(seconds)
        told.clock.advance(seconds)
    assert pauses[:4] == [0, 10, 20, 40]
    assert max(pauses) == 900
    assert (the(told).state, the(told).error) == (DeliveryState.SENDING, "HTTP status 503")
    told.receivers.failing = {}
    told.deliver()
    assert (the(told).state, the(told).error, len(told.bodies)) == (DeliveryState.DELIVERED, "", 1)
    assert the(told).attempts == len(pauses) + 1
    assert told.queue.sent == []


def test_a_receiver_may_ask_to_wait():
    told = Told("hooks")
    told.clock.at = NOW
    for asked, waited in ((120, 120), (0, 1), (100_000, 900)):
        told.receivers.failing = {"hooks": asked}
        told.put(WAITING) if not told.queue.sent else None
        told.deliver()
        assert [seconds for *_, seconds in told.queue.sent] == [waited]


def test_a_delivery_is_given_up_after_a_day_and_says_why():
    told = Told("hooks")
    told.clock.at = NOW + timedelta(hours=24)
    told.receivers.failing = {"hooks": None}
    told.put(WAITING)
    told.deliver()
    assert (the(told).state, the(told).error) == (DeliveryState.FAILED, "HTTP status 503")
    assert the(told).ended_at
    assert told.queue.sent == []


def test_a_destination_that_the_installation_no_longer_declares_is_not_called():
    told = Told("gone")
    told.put(WAITING)
    told.deliver()
    assert the(told).state is DeliveryState.FAILED
    assert "does not declare" in the(told).error


def test_a_destination_of_other_repositories_is_not_called():
    told = Told("others")
    told.put(WAITING)
    told.deliver()
    assert the(told).state is DeliveryState.FAILED
    assert "does not let this repository" in the(told).error
    assert told.bodies == []


def test_an_attempt_that_was_recorded_is_not_made_again():
    told = Told("hooks")
    told.put(WAITING)
    message = DeliverNotification(repository=REPOSITORY, delivery=the(told).id, attempt=1)
    deliver(told.ports, message)
    deliver(told.ports, message)
    deliver(told.ports, message.model_copy(update={"delivery": "unknown"}))
    assert len(told.bodies) == 1


def test_events_that_come_twice_at_the_same_moment_are_sent_once():
    told = Told("hooks")
    told.put(WAITING)
    message = DeliverNotification(repository=REPOSITORY, delivery=the(told).id, attempt=1)
    send = told.receivers.send

    def sends_slowly(destination, outgoing):
        told.receivers.send = send
        deliver(told.ports, message)
        send(destination, outgoing)

    told.receivers.send = sends_slowly
    deliver(told.ports, message)
    assert len(told.bodies) == 1
    assert (the(told).state, the(told).attempts) == (DeliveryState.DELIVERED, 1)


def test_an_attempt_that_died_is_made_again_by_its_repeated_message():
    told = Told("hooks")
    told.put(WAITING)
    message = DeliverNotification(repository=REPOSITORY, delivery=the(told).id, attempt=1)
    send = told.receivers.send

    def dies(_destination, _outgoing):
        told.receivers.send = send
        raise ConnectionResetError

    told.receivers.send = dies
    with pytest.raises(ConnectionResetError):
        deliver(told.ports, message)
    told.clock.advance(59)
    deliver(told.ports, message)
    assert told.bodies == []
    told.clock.advance(1)
    deliver(told.ports, message)
    assert len(told.bodies) == 1


def test_the_next_attempt_is_queued_before_the_failure_is_recorded():
    told = Told("hooks")
    told.receivers.failing = {"hooks": None}
    told.put(WAITING)
    message = DeliverNotification(repository=REPOSITORY, delivery=the(told).id, attempt=1)
    told.queue.sent.clear()

    save = told.notifications.save

    def dies(delivery):
        if delivery.attempts:
            raise Conflict("the notification")
        return save(delivery)

    told.notifications.save = dies
    with pytest.raises(Conflict):
        deliver(told.ports, message)
    told.notifications.save = save
    assert [attempt for _, _, attempt, _ in told.queue.sent] == [2]


def test_an_attempt_that_overtakes_the_record_of_the_one_before_it_is_made_all_the_same():
    told = Told("hooks")
    told.receivers.failing = {"hooks": 0}
    told.put(WAITING)
    save = told.notifications.save

    def records_slowly(delivery):
        if delivery.attempts == 1 and told.queue.sent:
            told.clock.advance(1)
            told.deliver()
        return save(delivery)

    told.notifications.save = records_slowly
    told.deliver()
    told.receivers.failing = {}
    told.clock.advance(60)
    told.deliver()
    assert (the(told).state, len(told.bodies)) == (DeliveryState.DELIVERED, 1)


def test_a_long_error_is_shortened():
    told = Told("hooks")
    told.put(WAITING)
    assert len(the(told).failed("x" * 5000, NOW).error) == 300


def test_no_message_has_a_plans_text_unless_that_is_asked_for():
    for asked in (False, True):
        told = Told(plan=asked)
        told.ports.artifacts.objects[any_plan().text.key] = b"\x1b[1m+ aws_sqs_queue.secret-plan\n"
        told.put(WAITING)
        told.deliver()
        assert [("secret-plan" in body) for _, body in told.bodies] == [asked] * len(OPEN)
        assert not any("\\u001b" in body or "\x1b" in body for _, body in told.bodies)


def test_a_long_plan_is_cut_and_an_expired_one_left_out():
    told = Told("owners", plan=True)
    told.ports.artifacts.objects[any_plan().text.key] = b"x" * 5000
    told.put(WAITING)
    told.put(amended(deployment_in(State.AWAITING_REVIEW, 2), plan=any_plan(text=replace(any_plan().text, key="gone"))))
    told.put(deployment_in(State.PLAN_FAILED, 3))
    told.deliver()
    long, *others = [body for _, body in told.bodies]
    assert long.endswith("x\n…")
    assert len(long) < 3000
    assert not any("x\n" in body for body in others)


def test_without_pages_messages_have_no_links():
    told = Told("hooks")
    told.ports = type(told.ports)({**told.ports.environ, "TIDEGATE_WEB_URL": ""}, **told.ports.given)
    told.put(WAITING)
    told.deliver()
    event = json.loads(told.bodies[0][1])
    assert (event["source"], event["data"]["url"]) == ("tidegate", "")


def elements(told):
    """Return the buttons of what arrived in Slack, each with its value."""
    [(_, body)] = [each for each in told.bodies if each[0] == "deploys"]
    return [
        (element["action_id"], element.get("value"))
        for block in json.loads(body)["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
    ]


def test_a_message_in_slack_has_buttons_for_its_review_if_their_click_can_be_verified():
    value = f"{WAITING.id} {WAITING.review.id}"
    for answered, shown in (
        ({"deploys"}, [("approve", value), ("reject", value), ("open", None)]),
        (set(), [("open", None)]),
    ):
        told = Told("deploys")
        told.receivers.answered = answered
        told.put(WAITING)
        told.deliver()
        assert elements(told) == shown


def test_a_message_about_what_is_over_has_no_buttons():
    told = Told("deploys")
    told.receivers.answered = {"deploys"}
    told.put(replace(deployment_in(State.APPLIED), review=WAITING.review))
    told.deliver()
    assert elements(told) == [("open", None)]

"""What comes back soon of what could not be taken off a queue, and what is left to the queue."""

from __future__ import annotations

import threading

import pytest

from tests.functions.wires import Context, sqs_event
from tidegate.aws.batches import release_held_slot, take_all, take_in_order
from tidegate.aws.hold import held
from tidegate.rules.errors import AppNotStored, AuditUnavailable, CloudUnavailable, Conflict, ForgeUnavailable, NotFound

CLOUD = CloudUnavailable("SQS", "throttled")


def put_off(error, receives=1):
    """Return after how many seconds each message comes back whose taking raises ``error``."""
    postponed = []

    def take(_body):
        raise error

    answer = take_all(sqs_event("{}", receives=receives), Context(), take, lambda _, seconds: postponed.append(seconds))
    assert answer == {"batchItemFailures": [{"itemIdentifier": "message-0"}]}
    return postponed


@pytest.mark.parametrize("error", [CLOUD, Conflict("The queue"), AuditUnavailable("throttled"), AppNotStored("app")])
def test_what_may_pass_comes_back_within_seconds_at_first(error):
    assert [put_off(error, receives) for receives in (1, 2, 4, 5)] == [[1], [2], [8], []]


def test_what_will_not_pass_is_left_to_the_queue():
    assert put_off(NotFound("deployment", "d")) == []
    assert put_off(ExceptionGroup("some", [CLOUD, KeyError("fault")])) == []


def test_what_failed_for_several_reasons_comes_back_when_the_last_may_have_passed():
    forge = ForgeUnavailable("limit", 17)
    assert put_off(ExceptionGroup("some", [CLOUD, Conflict("The queue")])) == [1]
    assert put_off(ExceptionGroup("some", [CLOUD, ExceptionGroup("more", [forge, ForgeUnavailable("down")])])) == [17]
    assert put_off(ExceptionGroup("some", [ForgeUnavailable("down")]), receives=3) == [4]


def hidden(receives, error=None):
    """Return for how many seconds a held message is hidden, one time after the other."""
    seconds = []

    def take(_body):
        if error is not None:
            raise error

    release_held_slot(sqs_event("{}", receives=receives), Context(), take, lambda _, pause: seconds.append(pause))
    return seconds


def test_a_held_message_comes_back_soon_when_its_function_dies_and_later_at_each_attempt():
    assert [hidden(receives) for receives in (1, 2, 5, 6, 11)] == [[30], [60], [480], [900], [900]]


def test_a_held_message_that_will_not_pass_comes_back_late():
    assert hidden(1, NotFound("deployment", "d")) == [30, 900]
    assert hidden(1, CLOUD) == [30, 1]


def test_a_message_is_held_for_as_long_as_it_is_worked_on_whatever_a_beat_meets():
    beats, third = [], threading.Event()

    def hide(seconds):
        beats.append(seconds)
        if len(beats) == 3:
            third.set()
        raise CLOUD

    with held(hide, attempt=1, beat=0.001):
        assert third.wait(5)
    told = len(beats)
    assert not [thread for thread in threading.enumerate() if thread.name == "hold"]
    assert len(beats) == told


def test_what_stands_behind_what_may_pass_comes_back_with_it():
    postponed = []

    def take(_body):
        raise CLOUD

    event = sqs_event("{}", "{}", "{}", group=["a", "b", "a"])
    take_in_order(event, Context(), take, lambda receipt, seconds: postponed.append((receipt, seconds)))
    assert sorted(postponed) == [("receipt-0", 1), ("receipt-1", 1), ("receipt-2", 1)]

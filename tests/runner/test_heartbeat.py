"""The job's heartbeat outlives whatever a call may raise, and ends when nobody waits any more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from runner.heartbeat import GONE, Heartbeat
from tests.runner.failing_aws import FAILURES, FailingAws, name_of
from tidegate.aws.client import Aws, AwsError

SOON = 0.001


@pytest.fixture
def gone() -> threading.Event:
    return threading.Event()


@pytest.fixture
def beating(gone: threading.Event) -> Iterator[Any]:
    begun: list[Heartbeat] = []

    def begin(aws: Aws) -> None:
        heartbeat = Heartbeat(aws, "token", SOON, gone.set)
        begun.append(heartbeat)
        heartbeat.start()

    yield begin
    for each in begun:
        each.stop()


@pytest.mark.parametrize("error", FAILURES, ids=name_of)
def test_a_beat_that_fails_is_followed_by_the_next(error: Exception, beating: Any, gone: threading.Event) -> None:
    aws = FailingAws(error)
    beating(aws)
    assert aws.answered.wait(5)
    assert not gone.is_set()


@pytest.mark.parametrize("code", sorted(GONE))
def test_a_token_for_which_nobody_waits_ends_the_heartbeat(code: str, beating: Any, gone: threading.Event) -> None:
    aws = FailingAws(ValueError("first"), AwsError("states", "SendTaskHeartbeat", code, "gone", 400))
    beating(aws)
    assert gone.wait(5)
    assert not aws.answered.wait(20 * SOON)
    assert len(aws.payloads) == 2

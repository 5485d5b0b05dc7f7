"""The job's heartbeat outlives whatever a call may raise, and ends when nobody waits any more."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    IncompleteReadError,
    NoCredentialsError,
    ParamValidationError,
    SSLError,
)

from runner.heartbeat import GONE, Heartbeat
from tidegate.adapters.aws import credentials
from tidegate.adapters.aws.client import Aws, AwsError

SOON = 0.001
URL = "https://states.eu-central-1.amazonaws.com"

PASSING = [
    AwsError("states", "SendTaskHeartbeat", "ConnectionFailed", "reset"),
    AwsError("states", "SendTaskHeartbeat", "ThrottlingException", "slower", 400),
    AwsError("states", "SendTaskHeartbeat", "AccessDeniedException", "no", 400),
    credentials.NoCredentialsError("The container's credentials endpoint did not answer as needed."),
    FileNotFoundError("the certificates"),
    ValueError("the answer is no JSON"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "the answer is no text"),
    ClientError({"Error": {"Code": "ThrottlingException"}}, "SendTaskHeartbeat"),
    ConnectTimeoutError(endpoint_url=URL),
    EndpointConnectionError(endpoint_url=URL),
    SSLError(endpoint_url=URL, error="handshake"),
    IncompleteReadError(actual_bytes=1, expected_bytes=2),
    NoCredentialsError(),
    CredentialRetrievalError(provider="container-role", error_msg="status 500"),
    ParamValidationError(report="no token"),
]


class Scripted(Aws):
    """Raises each of the given errors at one call after the other, then answers."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__({})
        self.errors = list(errors)
        self.answered = threading.Event()
        self.calls = 0

    def call(self, service: str, operation: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        self.answered.set()
        return {}


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


@pytest.mark.parametrize("error", PASSING, ids=lambda error: getattr(error, "code", type(error).__name__))
def test_a_beat_that_fails_is_followed_by_the_next(error: Exception, beating: Any, gone: threading.Event) -> None:
    aws = Scripted(error)
    beating(aws)
    assert aws.answered.wait(5)
    assert not gone.is_set()


@pytest.mark.parametrize("code", sorted(GONE))
def test_a_token_for_which_nobody_waits_ends_the_heartbeat(code: str, beating: Any, gone: threading.Event) -> None:
    aws = Scripted(ValueError("first"), AwsError("states", "SendTaskHeartbeat", code, "gone", 400))
    beating(aws)
    assert gone.wait(5)
    assert not aws.answered.wait(20 * SOON)
    assert aws.calls == 2

"""Calls of AWS that fail in every way that is known: Tidegate's own client's, and those of botocore."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

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

from tidegate.aws import credentials
from tidegate.aws.client import Aws, AwsError

URL = "https://states.eu-central-1.amazonaws.com"

FAILURES = [
    AwsError("states", "SendTaskHeartbeat", "ConnectionFailed", "reset"),
    AwsError("states", "SendTaskHeartbeat", "ThrottlingException", "slower", 400),
    AwsError("states", "SendTaskHeartbeat", "AccessDeniedException", "no", 400),
    credentials.NoCredentialsError("The container's credentials endpoint failed."),
    FileNotFoundError("the certificates"),
    ValueError("the response is not JSON"),
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


def name_of(error: Exception) -> str:
    """Return what a test with the error is called by."""
    return getattr(error, "code", type(error).__name__)


class FailingAws(Aws):
    """Raises each of the given errors at one call after the other, then answers."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__({})
        self.errors = list(errors)
        self.answered = threading.Event()
        self.payloads: list[Mapping[str, Any]] = []

    def call(self, service: str, operation: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        self.payloads.append(payload)
        if self.errors:
            raise self.errors.pop(0)
        self.answered.set()
        return {}

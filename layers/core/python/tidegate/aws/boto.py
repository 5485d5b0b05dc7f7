"""boto3 clients with time limits, and AWS's errors as Tidegate's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.rules.errors import CloudUnavailable

#: Five attempts with backoff take about 10 s: well within the limits of functions and tasks.
_CONFIG = Config(
    connect_timeout=3,
    read_timeout=10,
    retries={"mode": "standard", "total_max_attempts": 5},
    tcp_keepalive=True,
    parameter_validation=False,
)


def client(service: str) -> Any:
    """Return a client of an AWS service, with the standard chain's credentials, region and endpoint."""
    return boto3.client(service, config=_CONFIG)


def error_code(error: ClientError) -> str:
    """Return AWS's name of the error."""
    return str(error.response.get("Error", {}).get("Code", "Unknown"))


@contextmanager
def cloud_errors(service: str) -> Iterator[None]:
    """Raise CloudUnavailable for any error of an AWS client in the block."""
    try:
        yield
    except ClientError as error:
        raise CloudUnavailable(service, error_code(error)) from error
    except BotoCoreError as error:
        raise CloudUnavailable(service, type(error).__name__) from error

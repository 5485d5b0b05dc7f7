"""Clients of AWS with the caller's own credentials and region."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tidegate_cli.problems import Refused

SIGN_IN = "Sign in (for example: aws sso login), or choose another account with AWS_PROFILE."


def client(service: str, **more: Any) -> Any:
    """Return a client in the region of AWS_REGION, which boto3 does not read, or else in its own."""
    import boto3

    return boto3.client(service, region_name=os.environ.get("AWS_REGION") or None, **more)


@contextmanager
def refusals(advice: str = SIGN_IN) -> Iterator[None]:
    """Raise AWS's errors as problems. Its messages name keys and permissions, never a secret's value."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise Refused(str(error), advice) from error

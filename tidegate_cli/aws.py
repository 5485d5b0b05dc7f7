"""Clients of AWS with the caller's own credentials and region."""

from __future__ import annotations

import os
from typing import Any


def client(service: str, **more: Any) -> Any:
    """Return a client in the region of AWS_REGION, which boto3 does not read, or else in its own."""
    import boto3

    return boto3.client(service, region_name=os.environ.get("AWS_REGION") or None, **more)

"""boto3 clients of the local cloud's parts, each with the role that it acts for.

Their requests are signed and checked like all others.
"""

from __future__ import annotations

import threading
from typing import Any

import boto3
from botocore.config import Config

from tidegate_local.aws.credentials import Credentials

_SETTINGS = Config(
    parameter_validation=False,
    retries={"max_attempts": 0, "total_max_attempts": 1},
    connect_timeout=10,
    read_timeout=1000,
    max_pool_connections=64,
)


class Clients:
    """Keeps one client for each role, region and service: to make one takes 20 ms and more."""

    def __init__(self, endpoint: str, region: str, credentials: Credentials) -> None:
        self._endpoint, self._region, self._credentials = endpoint, region, credentials
        self._session = boto3.Session(aws_access_key_id="operator", aws_secret_access_key="operator")  # noqa: S106 - any key is an operator's.
        self._kept: dict[tuple[str, str, str], Any] = {}
        self._lock = threading.Lock()

    def get(self, role: str, region: str, service: str) -> Any:
        """Return a client with the role's credentials; an empty role is an operator's."""
        key = (role, region or self._region, service)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self._make(*key)
            return self._kept[key]

    def operator(self, service: str) -> Any:
        """Return an operator's client."""
        return self.get("", self._region, service)

    def _make(self, role: str, region: str, service: str) -> Any:
        keys = self._credentials.shared(role, f"service-{role.rpartition('/')[2]}") if role else None
        return self._session.client(
            service,
            region_name=region,
            endpoint_url=self._endpoint,
            config=_SETTINGS,
            aws_access_key_id=keys.access_key_id if keys else "operator",
            aws_secret_access_key=keys.secret_access_key if keys else "operator",
            aws_session_token=keys.session_token if keys else None,
        )

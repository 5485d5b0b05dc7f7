"""The App's secret (Secrets Manager): its id, its private key, and the OAuth client for signing in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from tidegate.aws.boto import cloud_errors, error_code
from tidegate.rules.errors import AppNotStored, CloudUnavailable

#: Seconds after which a changed secret is noticed: signatures with the old one become invalid.
SECRET_SECONDS = 300.0


class StoredAppSecret:
    """Reads the secret, and reads it again every five minutes. ``parse`` gets its name and text, and returns fields.

    If Secrets Manager does not answer, the cached value is used; without one, the error is raised.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        parse: Callable[[str, str], Mapping[str, str]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._name, self._parse, self._now = client, name, parse, now
        self._known: Mapping[str, str] | None = None
        self._read_at = 0.0

    def current(self) -> Mapping[str, str]:
        """Return the secret's fields. Raise what ``parse`` raises; CloudUnavailable."""
        if self._known is not None and self._now() - self._read_at < SECRET_SECONDS:
            return self._known
        try:
            self._known = self._read()
        except CloudUnavailable:
            if self._known is None:
                raise
        self._read_at = self._now()
        return self._known

    def _read(self) -> Mapping[str, str]:
        with cloud_errors("Secrets Manager"):
            try:
                answer = self._client.get_secret_value(SecretId=self._name)
            except ClientError as error:
                if error_code(error) == "ResourceNotFoundException":
                    raise AppNotStored(self._name) from error
                raise
        return self._parse(self._name, str(answer["SecretString"]))

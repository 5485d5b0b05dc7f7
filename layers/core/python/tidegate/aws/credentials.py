"""Sources of credentials: the environment (Lambda, CLI) or the ECS container endpoint."""

from __future__ import annotations

import http.client
import json
import threading
import time
from calendar import timegm
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from tidegate.aws.signing import Credentials

#: Credentials are renewed this long before their expiry: ECS offers new ones about 5 minutes ahead.
RENEW_BEFORE_SECONDS = 240
#: The host to which ECS's AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is relative.
ECS_ENDPOINT = "http://169.254.170.2"
TIMEOUT_SECONDS = 3
ATTEMPTS = 3


class NoCredentialsError(Exception):
    """No source of credentials is configured, or it does not answer."""


class CredentialSource:
    """Returns current credentials, renewed in time. May be used from several threads."""

    def __init__(self, fetch: Callable[[], Credentials], now: Callable[[], float] = time.time) -> None:
        self._fetch = fetch
        self._now = now
        self._lock = threading.Lock()
        self._current: Credentials | None = None

    def get(self) -> Credentials:
        """Return credentials that are valid for some more minutes. Raise NoCredentialsError."""
        with self._lock:
            current = self._current
            if current is None or (current.expires and current.expires - RENEW_BEFORE_SECONDS < self._now()):
                current = self._current = self._fetch()
            return current

    def forget(self) -> None:
        """Fetch again at the next use: AWS reported the current ones as expired."""
        with self._lock:
            self._current = None


def standard_source(environ: Mapping[str, str]) -> CredentialSource:
    """Return the source that ``environ`` names, in the order of AWS's own libraries."""
    return CredentialSource(lambda: _from_environment(environ) or _from_container(environ))


def _from_environment(environ: Mapping[str, str]) -> Credentials | None:
    key, secret = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if not key or not secret:
        return None
    return Credentials(key, secret, environ.get("AWS_SESSION_TOKEN") or None)


def _from_container(environ: Mapping[str, str]) -> Credentials:
    relative = environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    url = ECS_ENDPOINT + relative if relative else environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    if not url:
        raise NoCredentialsError(
            "No AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run as a task with a role."
        )
    return _parsed(_fetched(url, _authorization(environ)))


def _authorization(environ: Mapping[str, str]) -> str | None:
    file = environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
    if file:
        return Path(file).read_text(encoding="utf-8").strip()
    return environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")


def _fetched(url: str, authorization: str | None) -> bytes:
    problem = ""
    for _ in range(ATTEMPTS):
        try:
            status, body = _http_get(url, authorization)
        except OSError as error:
            problem = str(error)
            continue
        if status == http.client.OK:
            return body
        problem = f"status {status}"
    raise NoCredentialsError(f"The container's credentials endpoint failed: {problem}.")


def _http_get(url: str, authorization: str | None) -> tuple[int, bytes]:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_SECONDS)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", target, headers={"Authorization": authorization} if authorization else {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def end_of_session(text: str) -> float:
    """Return a session's expiry, in seconds since the epoch, from AWS's text. Raise ValueError for any other."""
    return float(timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")))


def _parsed(body: bytes) -> Credentials:
    try:
        fields = json.loads(body)
        expires = end_of_session(fields["Expiration"])
        return Credentials(fields["AccessKeyId"], fields["SecretAccessKey"], fields["Token"], expires)
    except (ValueError, KeyError, TypeError) as error:
        raise NoCredentialsError("The container's credentials endpoint sent an unexpected response.") from error

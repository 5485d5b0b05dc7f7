"""boto3 clients that the parts of the local cloud use, each with the role it acts for.

Their requests are signed and checked as everybody's, and do not leave the process.
"""

from __future__ import annotations

import io
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config

from tidegate_local.aws.credentials import Credentials
from tidegate_local.httpd import Application

_SETTINGS = Config(
    parameter_validation=False,
    retries={"max_attempts": 0, "total_max_attempts": 1},
    connect_timeout=10,
    read_timeout=1000,
    max_pool_connections=64,
)


class Clients:
    """Keeps one client for each role, region and service: to make one takes 20 ms and more."""

    def __init__(self, endpoint: str, region: str, credentials: Credentials, application: Application) -> None:
        self._endpoint, self._region, self._credentials = endpoint, region, credentials
        self._session = boto3.Session(aws_access_key_id="operator", aws_secret_access_key="operator")  # noqa: S106 - any key is an operator's.
        self._session.events.register("before-send", lambda request, **_: _answer(application, request))
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


class _Body(io.BytesIO):
    """A response's body, with the one method that botocore needs besides a file's."""

    def stream(self, **_more: Any) -> Iterator[bytes]:
        yield self.read()


def _answer(application: Application, request: AWSPreparedRequest) -> AWSResponse:
    """Have a WSGI application answer a request."""
    begun: list[Any] = []
    body = b"".join(application(_environ(request), lambda status, headers, *_: begun.extend((status, headers))))
    status, headers = begun
    return AWSResponse(request.url, int(status.split(" ", 1)[0]), dict(headers), _Body(body))


def _environ(request: AWSPreparedRequest) -> dict[str, Any]:
    address = urllib.parse.urlsplit(request.url)
    body = request.body or b""
    content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else body.read()
    headers = {
        f"HTTP_{name.upper().replace('-', '_')}": value.decode() if isinstance(value, bytes) else str(value)
        for name, value in request.headers.items()
    }
    return {
        **headers,
        "CONTENT_TYPE": headers.get("HTTP_CONTENT_TYPE", ""),
        "CONTENT_LENGTH": str(len(content)),
        "HTTP_HOST": address.netloc,
        "PATH_INFO": urllib.parse.unquote(address.path) or "/",
        "QUERY_STRING": address.query,
        "RAW_URI": urllib.parse.urlunsplit(("", "", address.path or "/", address.query, "")),
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "SERVER_NAME": address.hostname,
        "SERVER_PORT": str(address.port),
        "wsgi.input": io.BytesIO(content),
        "wsgi.url_scheme": address.scheme,
    }

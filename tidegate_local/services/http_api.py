"""API Gateway's HTTP APIs: the template's routes, each answered by its function (payload format 2.0)."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from werkzeug.exceptions import ClientDisconnected

from tidegate_local.httpd import Environ, StartResponse
from tidegate_local.latency import LATENCY
from tidegate_local.processes.lambdas import REQUEST_LIMIT, Result

BODY_LIMIT = 10 * 1024 * 1024
_PATIENCE_SECONDS = 30.0

Answer = tuple[int, list[tuple[str, str]], bytes]
"""Status, headers (a cookie each has its own) and body."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the template: its key (``POST /webhooks/{forge}`` or ``$default``) and its function's name."""

    key: str
    function: str

    def match(self, method: str, path: str) -> dict[str, str] | None:
        """Return the path's parameters, or None when the route does not fit."""
        if self.key == "$default":
            return {}
        wanted, _, template = self.key.partition(" ")
        if wanted not in ("ANY", method):
            return None
        pattern = re.sub(r"\\\{(\w+)(\\\+)?\\\}", _group, re.escape(template))
        found = re.fullmatch(pattern, path)
        return (
            None if found is None else {name: urllib.parse.unquote(value) for name, value in found.groupdict().items()}
        )


def _group(found: re.Match[str]) -> str:
    return f"(?P<{found.group(1)}>{'.+' if found.group(2) else '[^/]+'})"


class HttpApi:
    """A WSGI application that plays the stack's HTTP API."""

    def __init__(self, invoke: Callable[[str, bytes], Result], account: str, allowed: Callable[[str], bool]) -> None:
        self._invoke, self._account, self._allowed = invoke, account, allowed
        self._routes: list[Route] = []
        self._workers = ThreadPoolExecutor(max_workers=32, thread_name_prefix="http-api")
        self._lock = threading.Lock()

    def add(self, route: Route) -> None:
        """Add a route. More specific ones win: exact paths, then variables, then ``$default``."""
        self._routes.append(route)
        self._routes.sort(
            key=lambda item: (item.key == "$default", "{" in item.key, "+}" in item.key, item.key.startswith("ANY"))
        )

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        status, headers, body = self._answer(environ)
        if not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(("Content-Type", "text/plain; charset=utf-8"))
        headers.append(("Content-Length", str(len(body))))
        start_response(f"{status} {_reason(status)}", headers)
        return [body]

    def _answer(self, environ: Environ) -> Answer:
        body = _read(environ)
        if body is None:
            return _message(413, "Request Entity Too Large")
        method, path = (
            environ["REQUEST_METHOD"],
            urllib.parse.quote(environ["PATH_INFO"].encode("latin-1"), safe="/~:@!$&'()*+,;="),
        )
        for route in self._routes:
            parameters = route.match(method, path)
            if parameters is not None:
                return self._proxy(route, environ, body, parameters)
        return _message(404, "Not Found")

    def _proxy(self, route: Route, environ: Environ, body: bytes, parameters: Mapping[str, str]) -> Answer:
        event = json.dumps(self._event(route, environ, body, parameters)).encode()
        if len(event) > REQUEST_LIMIT:
            return _message(413, "Request Too Long")
        if not self._allowed(route.function):
            return _message(500, "Internal Server Error")
        LATENCY.wait("http_api", route.function)
        try:
            result = self._workers.submit(self._invoke, route.function, event).result(_PATIENCE_SECONDS)
        except FutureTimeout:
            return _message(503, "Service Unavailable")
        return _message(500, "Internal Server Error") if result.error else _answered(result.payload)

    def _context(self, route: Route, environ: Environ, headers: Mapping[str, str]) -> dict[str, Any]:
        now = time.time()
        return {
            "accountId": self._account,
            "apiId": "local",
            "domainName": environ.get("HTTP_HOST", "localhost"),
            "http": {
                "method": environ["REQUEST_METHOD"],
                "path": environ["PATH_INFO"],
                "protocol": "HTTP/1.1",
                "sourceIp": environ.get("REMOTE_ADDR", "127.0.0.1"),
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": route.key,
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
            "timeEpoch": int(now * 1000),
        }

    def _event(self, route: Route, environ: Environ, body: bytes, parameters: Mapping[str, str]) -> dict[str, Any]:
        headers = dict(_headers(environ))
        query = urllib.parse.parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        text = _is_text(headers.get("content-type", ""))
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": route.key,
            "rawPath": environ["PATH_INFO"],
            "rawQueryString": environ.get("QUERY_STRING", ""),
            "headers": headers,
            "requestContext": self._context(route, environ, headers),
            "isBase64Encoded": not text,
        }
        if query:
            event["queryStringParameters"] = {name: ",".join(values) for name, values in query.items()}
        if "cookie" in headers:
            event["cookies"] = [item.strip() for item in headers.pop("cookie").split(";")]
        if parameters:
            event["pathParameters"] = dict(parameters)
        if body:
            event["body"] = body.decode("utf-8", "replace") if text else base64.b64encode(body).decode()
        else:
            event["isBase64Encoded"] = False
        return event


def _read(environ: Environ) -> bytes | None:
    """Return the body, or None when it is too large. All of it is read, or the client would not see the answer."""
    stream, size = environ["wsgi.input"], environ.get("CONTENT_LENGTH")
    try:
        if environ.get("wsgi.input_terminated"):
            body: bytes = stream.read()
        else:
            body = stream.read(int(size or 0))
    except ClientDisconnected:
        body = b""
    return body if len(body) <= BODY_LIMIT else None


def _headers(environ: Environ) -> Iterable[tuple[str, str]]:
    for name, value in environ.items():
        if name.startswith("HTTP_"):
            yield name[5:].lower().replace("_", "-"), str(value)
        elif name in {"CONTENT_TYPE", "CONTENT_LENGTH"} and value:
            yield name.lower().replace("_", "-"), str(value)


def _is_text(content_type: str) -> bool:
    """Tell whether the gateway passes the body as it is; everything else goes as Base64."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind in {"application/json", "application/javascript", "application/xml"}


def _answered(payload: bytes) -> Answer:
    answer = json.loads(payload or b"null")
    if not isinstance(answer, dict) or "statusCode" not in answer:
        return 200, [("Content-Type", "application/json")], json.dumps(answer).encode()
    headers = [(str(name), str(value)) for name, value in (answer.get("headers") or {}).items()]
    headers += [("Set-Cookie", str(cookie)) for cookie in answer.get("cookies") or []]
    body = str(answer.get("body") or "")
    raw = base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
    return int(answer["statusCode"]), headers, raw


def _message(status: int, text: str) -> Answer:
    return status, [("Content-Type", "application/json")], json.dumps({"message": text}).encode()


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"

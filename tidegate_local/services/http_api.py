"""API Gateway's HTTP APIs: the template's routes, each answered by its function (payload format 2.0)."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any

from werkzeug.exceptions import ClientDisconnected, HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from tidegate_local.httpd import Environ, StartResponse
from tidegate_local.latency import LATENCY
from tidegate_local.processes.lambdas import REQUEST_LIMIT, Result

BODY_LIMIT = 10 * 1024 * 1024
_TIME_LIMIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the template: its key (``POST /webhooks/{forge}`` or ``$default``) and its function's name."""

    key: str
    function: str


class HttpApi:
    """A WSGI application that plays the stack's HTTP API."""

    def __init__(self, invoke: Callable[[str, bytes], Result], account: str, allowed: Callable[[str], bool]) -> None:
        self._invoke, self._account, self._allowed = invoke, account, allowed
        self._routes, self._default = Map(strict_slashes=False, merge_slashes=False), list[Route]()
        self._workers = ThreadPoolExecutor(max_workers=32, thread_name_prefix="http-api")
        self._lock = threading.Lock()

    def add(self, route: Route) -> None:
        """Add a route. More specific ones win: exact paths, then variables, then ``$default``."""
        method, _, path = route.key.partition(" ")
        if route.key == "$default":
            self._default = [route]
            return
        template = re.sub(r"\{(\w+)(\+?)\}", lambda found: f"<{'path:' if found[2] else ''}{found[1]}>", path)
        with self._lock:
            self._routes.add(Rule(template, methods=None if method == "ANY" else [method], endpoint=route))

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        try:
            body = request.get_data()
        except ClientDisconnected:
            body = b""
        return self._answer(request, body)(environ, start_response)

    def _answer(self, request: Request, body: bytes) -> Response:
        if len(body) > BODY_LIMIT:
            return _message(413, "Request Entity Too Large")
        try:
            route, parameters = self._routes.bind_to_environ(request.environ).match()
        except HTTPException:
            if not self._default:
                return _message(404, "Not Found")
            route, parameters = self._default[0], {}
        return self._proxy(route, request, body, parameters)

    def _proxy(self, route: Route, request: Request, body: bytes, parameters: Mapping[str, str]) -> Response:
        event = json.dumps(self._event(route, request, body, parameters)).encode()
        if len(event) > REQUEST_LIMIT:
            return _message(413, "Request Too Long")
        if not self._allowed(route.function):
            return _message(500, "Internal Server Error")
        LATENCY.wait("http_api", route.function)
        try:
            result = self._workers.submit(self._invoke, route.function, event).result(_TIME_LIMIT_SECONDS)
        except FutureTimeout:
            return _message(503, "Service Unavailable")
        return _message(500, "Internal Server Error") if result.error else _answered(result.payload)

    def _event(self, route: Route, request: Request, body: bytes, parameters: Mapping[str, str]) -> dict[str, Any]:
        headers = {name.lower(): value for name, value in request.headers.items()}
        path, now, is_text = request.environ["PATH_INFO"], time.time(), _is_text(request.mimetype)
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": route.key,
            "rawPath": path,
            "rawQueryString": request.query_string.decode("latin-1"),
            "requestContext": {
                "accountId": self._account,
                "apiId": "local",
                "domainName": request.host,
                "http": {
                    "method": request.method,
                    "path": path,
                    "protocol": "HTTP/1.1",
                    "sourceIp": request.remote_addr or "127.0.0.1",
                    "userAgent": request.user_agent.string,
                },
                "requestId": str(uuid.uuid4()),
                "routeKey": route.key,
                "stage": "$default",
                "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
                "timeEpoch": int(now * 1000),
            },
            "isBase64Encoded": bool(body) and not is_text,
        }
        if request.args:
            event["queryStringParameters"] = {name: ",".join(values) for name, values in request.args.lists()}
        if "cookie" in headers:
            event["cookies"] = [item.strip() for item in headers.pop("cookie").split(";")]
        if parameters:
            event["pathParameters"] = dict(parameters)
        if body:
            event["body"] = body.decode("utf-8", "replace") if is_text else base64.b64encode(body).decode()
        return {**event, "headers": headers}


def _is_text(kind: str) -> bool:
    """Tell whether the gateway passes the body as it is; everything else goes as Base64."""
    return kind.startswith("text/") or kind in {"application/json", "application/javascript", "application/xml"}


def _answered(payload: bytes) -> Response:
    answer = json.loads(payload or b"null")
    if not isinstance(answer, dict) or "statusCode" not in answer:
        return Response(json.dumps(answer), content_type="application/json")
    body = str(answer.get("body") or "")
    raw = base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
    headers = {str(name): str(value) for name, value in (answer.get("headers") or {}).items()}
    response = Response(raw, int(answer["statusCode"]), headers)
    for cookie in answer.get("cookies") or []:
        response.headers.add("Set-Cookie", str(cookie))
    return response


def _message(status: int, text: str) -> Response:
    return Response(json.dumps({"message": text}), status, content_type="application/json")

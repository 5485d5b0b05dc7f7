"""The HTTP API as a WSGI application, for tools that call one."""

from __future__ import annotations

import base64
from http import HTTPStatus

from tests.functions.wires import Context


def wsgi(wires):
    """Return an application that calls the function as API Gateway would."""

    def application(environ, start_response):
        answer = wires.web.answer(_event(environ), Context())
        status = answer["statusCode"]
        headers = [(name, str(value)) for name, value in answer["headers"].items()]
        headers += [("Set-Cookie", cookie) for cookie in answer.get("cookies") or []]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        body = answer["body"] or ""
        return [base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()]

    return application


def _event(environ):
    headers = {name[5:].lower().replace("_", "-"): value for name, value in environ.items() if name.startswith("HTTP_")}
    headers.pop("accept-encoding", None)  # The tools do not unpack answers.
    if environ.get("CONTENT_TYPE"):
        headers["content-type"] = environ["CONTENT_TYPE"]
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
    query = environ.get("QUERY_STRING", "")
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {
            "http": {
                "method": environ["REQUEST_METHOD"],
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
            },
            "requestId": "request-1",
            "stage": "$default",
        },
        "isBase64Encoded": bool(body),
    }
    if "cookie" in headers:
        event["cookies"] = [cookie.strip() for cookie in headers.pop("cookie").split(";")]
    if query:
        event["queryStringParameters"] = _parameters(query)
    if body:
        event["body"] = base64.b64encode(body).decode()
    return event


def _parameters(query):
    from urllib.parse import parse_qs

    return {name: ",".join(values) for name, values in parse_qs(query, keep_blank_values=True).items()}

"""Parse an AWS API request: its service, its action, and the permissions it needs.

Supports all protocols of AWS SDKs. botocore's models distinguish the operations of REST services.
"""

from __future__ import annotations

import functools
import html
import json
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import botocore.session

from tidegate_local.aws.credentials import Scope

_REST = {"lambda": "lambda", "s3": "s3", "apigateway": "apigatewayv2", "scheduler": "scheduler", "xray": "xray"}
_TARGET_PREFIXES = {"monitoring": "cloudwatch"}


@dataclass(frozen=True, slots=True)
class Call:
    """An AWS API call. ``parameters`` are the members of its input, as far as the address and body show them."""

    service: str
    action: str
    region: str
    protocol: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The call as IAM writes it, for example ``dynamodb:PutItem``."""
        return f"{self.service}:{self.action}"


def read(environ: Mapping[str, Any], body: bytes, scope: Scope) -> Call:
    """Return what a signed request asks for. An action that cannot be told is called ``Unknown``."""
    path = str(environ.get("PATH_INFO", "/"))
    target = str(environ.get("HTTP_X_AMZ_TARGET", ""))
    if target:
        return Call(scope.service, target.rpartition(".")[2], scope.region, "json", _json(body))
    if path.startswith("/service/") and "/operation/" in path:
        service = _TARGET_PREFIXES.get(scope.service, scope.service)
        return Call(service, path.rpartition("/")[2], scope.region, "cbor", {})
    if scope.service in _REST:
        return _rest(environ, body, scope)
    form = dict(urllib.parse.parse_qsl(body.decode("utf-8", "replace"))) or dict(_query(environ))
    protocol = "ec2" if scope.service == "ec2" else "query"
    return Call(scope.service, str(form.get("Action", "Unknown")), scope.region, protocol, form)


def _json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _query(environ: Mapping[str, Any]) -> list[tuple[str, str]]:
    return urllib.parse.parse_qsl(str(environ.get("QUERY_STRING", "")), keep_blank_values=True)


@dataclass(frozen=True, slots=True)
class _Operation:
    name: str
    method: str
    path: re.Pattern[str]
    query: frozenset[str]
    needed: int


def _template(uri: str) -> re.Pattern[str]:
    parts = re.split(r"\{([A-Za-z0-9_-]+)(\+?)\}", uri)
    text = ""
    for index in range(0, len(parts) - 1, 3):
        literal, name, greedy = parts[index : index + 3]
        text += re.escape(literal) + f"(?P<{name.replace('-', '_')}>{'.+' if greedy else '[^/]+'})"
    return re.compile(text + re.escape(parts[-1]) + "/?")


@functools.cache
def _operations(service: str) -> list[_Operation]:
    model = botocore.session.get_session().get_service_model(_REST[service])
    operations = []
    for name in model.operation_names:
        operation = model.operation_model(name)
        path, _, query = operation.http["requestUri"].partition("?")
        keys = frozenset(key for key, _ in urllib.parse.parse_qsl(query, keep_blank_values=True)) - {"x-id"}
        required = len(operation.input_shape.required_members) if operation.input_shape else 0
        operations.append(_Operation(name, operation.http["method"], _template(path), keys, required))
    return operations


def _rest(environ: Mapping[str, Any], body: bytes, scope: Scope) -> Call:
    raw = str(environ.get("RAW_URI") or environ.get("REQUEST_URI") or environ.get("PATH_INFO", "/"))
    path = urllib.parse.urlsplit(raw).path if raw.startswith(("http:", "https:")) else raw.partition("?")[0]
    query = dict(_query(environ))
    method = str(environ["REQUEST_METHOD"])
    fitting = [
        (operation, found)
        for operation in _operations(scope.service)
        if operation.method == method and operation.query <= query.keys() and (found := operation.path.fullmatch(path))
    ]
    if not fitting:
        return Call(scope.service, _root_action(scope.service, method), scope.region, "rest", query)
    operation, found = max(fitting, key=lambda pair: (len(pair[0].query), _prefer(pair[0].name, environ, query)))
    labels = {name: urllib.parse.unquote(value) for name, value in found.groupdict().items() if value is not None}
    protocol = "s3" if scope.service == "s3" else "rest"
    parameters = {**(_json(body) if protocol == "rest" and body[:1] == b"{" else {}), **query, **labels}
    if operation.name == "DeleteObjects":
        parameters["Keys"] = _keys(body)
    return Call(scope.service, operation.name, scope.region, protocol, parameters)


def _keys(body: bytes) -> list[str]:
    """Return the keys that a request to delete several objects names."""
    return [html.unescape(key) for key in re.findall(r"<Key>(.*?)</Key>", body.decode("utf-8", "replace"), re.DOTALL)]


def _root_action(service: str, method: str) -> str:
    return "ListBuckets" if (service, method) == ("s3", "GET") else "Unknown"


def _prefer(name: str, environ: Mapping[str, Any], query: Mapping[str, str]) -> int:
    """Rank operations of one address that differ by headers only."""
    copied = "HTTP_X_AMZ_COPY_SOURCE" in environ
    ranks = {
        "CopyObject": 2 if copied else 0,
        "PutObject": 1,
        "UploadPartCopy": 2 if copied else 0,
        "UploadPart": 1,
        "ListObjectsV2": 2 if "list-type" in query else 0,
        "ListObjects": 1,
        "GetObject": 1,
    }
    return ranks.get(name, 1 if name in {"DeleteObject", "HeadObject", "CreateBucket"} else 0)

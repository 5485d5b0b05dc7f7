"""The AWS API of the local cloud: authentication, authorization, and dispatch.

Lambda's Invoke and the ECS task calls go to this machine's own runners, everything else to moto.
"""

from __future__ import annotations

import io
import json
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from tidegate.deploys.rules.issued import said_in
from tidegate_local.aws.credentials import Credentials, Principal, Scope, scope_of
from tidegate_local.aws.faults import Fault, Faults
from tidegate_local.aws.iam import Policies
from tidegate_local.aws.permissions import Needs
from tidegate_local.aws.refusals import Refusal, render
from tidegate_local.aws.requests import Call, read
from tidegate_local.httpd import Application, Environ, StartResponse
from tidegate_local.latency import LATENCY

_KEPT_CALLS = 20_000
#: Calls that begin a session of a role.
_SESSIONS = frozenset({"sts:AssumeRole", "sts:AssumeRoleWithWebIdentity"})
_SERIAL = ("dynamodb", "sqs", "s3", "states")
"""moto checks conditions and then writes, without a lock: calls of these services go one after another."""
_READS = ("Get", "List", "Describe", "Head", "Query", "Scan", "BatchGet", "Receive")


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call that was made: when (epoch seconds), by which role and process, and whether it was allowed.

    ``items`` are the keys (``pk sk``) of the DynamoDB items that it names. ``task`` is what a function worked on that
    made it: the kind of its message, or the queue that its messages came from; empty where neither says it.
    """

    at: float
    call: str
    role: str
    process: str
    allowed: bool
    status: int
    items: tuple[str, ...] = ()
    task: str = ""


Handler = Callable[[Call, bytes, Mapping[str, Any]], Response]


class Gateway:
    """A WSGI application in front of moto."""

    def __init__(
        self, moto: Application, credentials: Credentials, policies: Policies, needs: Needs, faults: Faults
    ) -> None:
        self._moto, self._credentials, self._policies, self._needs = moto, credentials, policies, needs
        self._faults = faults
        self._own: dict[str, Handler] = {}
        self._locks = {service: threading.RLock() for service in _SERIAL}
        self._recorded: deque[Recorded] = deque(maxlen=_KEPT_CALLS)
        self._counts: Counter[tuple[str, str]] = Counter()
        self.control: Application | None = None
        self.function_of: Callable[[str], str] = lambda _process: ""
        self.event_of: Callable[[str], str] = lambda _process: ""
        self.kill: Callable[[str], None] = lambda _process: None

    def handle(self, name: str, handler: Handler) -> None:
        """Let ``handler`` answer calls of this name (``ecs:RunTask``) instead of moto."""
        self._own[name] = handler

    def ask_moto(self, environ: Environ) -> Response:
        """Return moto's answer, for a handler that adds to it."""
        return self._ask_moto(environ, nullcontext())

    def recorded(self) -> list[Recorded]:
        """Return the last calls, oldest first."""
        return list(self._recorded)

    def counts(self) -> dict[str, int]:
        """Return how many calls of each name all roles made (operators' calls are not counted)."""
        total: Counter[str] = Counter()
        for (_, name), count in list(self._counts.items()):
            total[name] += count
        return dict(total)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        if self.control is not None and environ["PATH_INFO"].startswith("/_tidegate/"):
            return self.control(environ, start_response)
        response = self._answer(environ)
        headers = [header for header in response.headers if header[0].lower() != "content-length"]
        length = _length(environ, response)
        start_response(response.status, [*headers, ("Content-Length", length)] if length else headers)
        return [response.body]

    def _answer(self, environ: Environ) -> Response:
        body = _body(environ)
        scope = scope_of(environ)
        if scope is None:
            return self._unsigned(environ, body)
        call = read(environ, body, scope)
        who = self._credentials.owner(scope.access_key_id)
        if who is None:
            return self._learn(call, "", self._late(call, self._route(environ, call, body)))
        if self._credentials.has_ended(scope.access_key_id):
            ended = Refusal("ExpiredToken", "The security token included in the request is expired", 403)
            return self._record(call, who, render(ended, call), allowed=False)
        return self._as_role(environ, call, body, who)

    def _unsigned(self, environ: Environ, body: bytes) -> Response:
        """A token proves who assumes a role with it, so that nothing is signed."""
        call = read(environ, body, Scope("", "", "sts"))
        if call.name != "sts:AssumeRoleWithWebIdentity":
            return self._ask_moto(environ, nullcontext())
        claims = said_in(str(call.parameters.get("WebIdentityToken")))
        refusal = self._policies.web_identity_refusal(str(call.parameters.get("RoleArn")), claims)
        if refusal is not None:
            return render(Refusal("AccessDenied", refusal, 403), call)
        return self._learn(call, "", self._ask_moto(environ, nullcontext()))

    def _as_role(self, environ: Environ, call: Call, body: bytes, who: Principal) -> Response:
        fault = self._fault(call, who)
        if fault is not None and fault.when == "before":
            struck = self._strike(fault, call, who)
            if struck is not None:
                return self._record(call, who, struck, allowed=True)
        refusal = self._policies.refusal(who.role, self._needs.of(call))
        if refusal is None and call.name == "sts:AssumeRole":
            refusal = self._policies.trust_refusal(str(call.parameters.get("RoleArn")), who.role)
        if refusal is not None:
            denied = render(Refusal("AccessDenied", refusal, 403), call)
            return self._record(call, who, denied, allowed=False)
        response = self._late(call, self._route(environ, call, body))
        response = self._learn(call, who.process, response)
        if fault is not None and fault.when == "after":
            response = self._strike(fault, call, who) or response
        return self._record(call, who, response, allowed=True)

    @staticmethod
    def _late(call: Call, response: Response) -> Response:
        """Return the answer as late as AWS gives it, also to bare commands: these are what Tidegate is checked
        against.
        """
        LATENCY.wait(f"{call.service}_transaction" if call.action.startswith("Transact") else call.service, call.action)
        return response

    def _learn(self, call: Call, process: str, response: Response) -> Response:
        if call.name not in _SESSIONS or not response.status.startswith("200"):
            return response
        body = self._credentials.remember_assumed(str(call.parameters.get("RoleArn")), process, response.body)
        return replace(response, body=body)

    def _fault(self, call: Call, who: Principal) -> Fault | None:
        if not self._faults.hits():
            return None
        names = (who.role.rpartition("/")[2], self.function_of(who.process), self.event_of(who.process))
        write = not call.action.startswith(_READS)
        return self._faults.striking(call.name, names, write=write, parameters=_text(call))

    def _strike(self, fault: Fault, call: Call, who: Principal) -> Response | None:
        if fault.delay:
            time.sleep(fault.delay)
        if fault.kill:
            self.kill(who.process)
            return render(Refusal("ServiceUnavailable", "The caller was killed.", 503), call)
        return render(Refusal(fault.error, "A fault was injected.", fault.status), call) if fault.error else None

    def _record(self, call: Call, who: Principal, response: Response, *, allowed: bool) -> Response:
        status = int(response.status.split(" ", 1)[0])
        items = tuple(_items(call.parameters)) if call.service == "dynamodb" else ()
        task = _task(self.event_of(who.process)) if items else ""
        self._recorded.append(Recorded(time.time(), call.name, who.role, who.process, allowed, status, items, task))
        self._counts[who.role, call.name] += 1
        return response

    def _route(self, environ: Environ, call: Call, body: bytes) -> Response:
        own = self._own.get(call.name)
        if own is not None:
            return own(call, body, environ)
        waits = call.action == "ReceiveMessage" and call.parameters.get("WaitTimeSeconds", 0)
        lock: AbstractContextManager[Any] = nullcontext() if waits else self._locks.get(call.service, nullcontext())
        return self._ask_moto(environ, lock)

    def _ask_moto(self, environ: Environ, lock: AbstractContextManager[Any]) -> Response:
        started: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], _error: Any = None) -> None:
            started[:] = [status, headers]

        with lock:
            parts = self._moto(environ, start_response)
            body = b"".join(parts)
            close = getattr(parts, "close", None)
            if close is not None:
                close()
        return Response(started[0], started[1], body)


def _length(environ: Environ, response: Response) -> str | None:
    """Return what to announce; the head of an object tells the object's own length."""
    told = next((value for name, value in response.headers if name.lower() == "content-length"), None)
    if environ["REQUEST_METHOD"] == "HEAD" or response.status.startswith(("204", "304")):
        return told
    return str(len(response.body))


def _text(call: Call) -> str:
    return json.dumps(call.parameters, default=str)


def _items(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield key and sort key of each item that a DynamoDB call names; a query's sort key is ``*``."""
    if "KeyConditionExpression" in parameters:
        yield from (f"{key} *" for key in parameters.get("ExpressionAttributeValues", {}).get(":pk", {}).values())
        return
    batch = [{"Key": key} for table in parameters.get("RequestItems", {}).values() for key in _asked(table)]
    requests = [request for entry in parameters.get("TransactItems", []) for request in entry.values()]
    for request in batch or requests or [parameters]:
        keys = request.get("Key") or request.get("Item") or {}
        if keys:
            yield " ".join(str(keys.get(name, {}).get("S")) for name in ("pk", "sk"))


def _asked(table: Any) -> list[Any]:
    """Return the keys that a BatchGetItem asks one table for."""
    return list(table.get("Keys", [])) if isinstance(table, Mapping) else []


def _body(environ: Environ) -> bytes:
    """Read the whole body, and leave it in ``environ`` for moto."""
    stream = environ["wsgi.input"]
    terminated = environ.pop("wsgi.input_terminated", False)
    body: bytes = stream.read() if terminated else stream.read(int(environ.get("CONTENT_LENGTH") or 0))
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ["CONTENT_LENGTH"] = str(len(body))
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def json_response(value: Any, status: str = "200 OK", headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response as AWS's JSON protocols have it."""
    every = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-RequestId": str(uuid.uuid4()), **(headers or {})}
    return Response(status, list(every.items()), json.dumps(value).encode())


def _task(event: str) -> str:
    """Return what a function works on by its event, as JSON."""
    fields = json.loads(event or "null")
    if not isinstance(fields, dict):
        return ""
    records = fields.get("Records") or [{}]
    return str(fields.get("kind") or str(records[0].get("eventSourceARN", "")).rpartition(":")[2])


__all__ = ["Gateway", "Handler", "Recorded", "Response", "Scope", "json_response"]

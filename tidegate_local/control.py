"""The local cloud's own HTTP interface below ``/_tidegate/`` on the AWS port: information, faults, controls."""

from __future__ import annotations

import dataclasses
import json
import urllib.parse
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tidegate_local.aws.faults import Fault
from tidegate_local.httpd import Environ, StartResponse
from tidegate_local.latency import LATENCY
from tidegate_local.pages import Page, execution_page, log_page

if TYPE_CHECKING:
    from tidegate_local.cloud import Cloud

_Answer = Any


class Control:
    """A WSGI application. Paths are ``/_tidegate/<thing>[/<name>[/<verb>]]``; bodies and answers are JSON.

    Only logs and executions are pages, which check runs link to.
    """

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._reads: dict[str, Callable[[], _Answer]] = {
            "info": cloud.info,
            "app": cloud.installations[0].app,
            "calls": lambda: [dataclasses.asdict(call) for call in cloud.gateway.recorded()],
            "counts": cloud.gateway.counts,
            "faults": cloud.faults.hits,
            "audit": lambda: {each.prefix: each.audit_messages() for each in cloud.installations},
            "tasks": lambda: [task.describe() for task in cloud.tasks.all()],
            "tenants": lambda: [dataclasses.asdict(call) for call in cloud.lambdas.tenants.all()],
            "schedules": lambda: cloud.events.schedules() | cloud.schedules.expressions(),
            "permissions": self._permissions,
            "latency": lambda: [dataclasses.asdict(wait) for wait in LATENCY.waits()],
            "left_out": cloud.installations[0].left_out,
        }

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        parts = [urllib.parse.unquote(part) for part in environ["PATH_INFO"].split("/")[2:]]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        try:
            if environ["REQUEST_METHOD"] == "GET" and (page := self._page(parts)):
                return _show(page, start_response)
            status, answer = 200, self._answer(environ["REQUEST_METHOD"], parts, body)
        except (KeyError, ValueError) as error:
            status, answer = 400, {"error": f"{type(error).__name__}: {error}"}
        text = json.dumps(answer, default=str).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(text)))]
        start_response(f"{status} {'OK' if status == HTTPStatus.OK else 'Bad Request'}", headers)
        return [text]

    def _page(self, parts: list[str]) -> Page | None:
        """Return the page for a browser at this path; None where a program is answered."""
        clients, found = self._cloud.clients, None
        for info in (installation.info() for installation in self._cloud.installations):
            match parts:
                case ["logs", job]:
                    found = log_page(clients, info["table"], info["artifact_bucket"], job)
                case ["executions", deployment]:
                    found = execution_page(clients, info["state_machines"]["terraform"], deployment)
            if found is None or found.status is HTTPStatus.OK:
                return found
        return found

    def _answer(self, method: str, parts: list[str], body: bytes) -> _Answer:
        if method == "GET" and parts[0] == "metadata":
            return self._metadata(parts[1])
        if method == "GET":
            return self._reads[parts[0]]()
        if method == "DELETE" and parts[0] == "faults":
            self._cloud.faults.remove(parts[1] if len(parts) > 1 else None)
            return {}
        return self._act(parts, json.loads(body or b"{}"))

    def _act(self, parts: list[str], body: Any) -> _Answer:
        match parts:
            case ["faults"]:
                return {"id": self._cloud.faults.add(Fault.model_validate(body))}
            case ["sessions"]:
                self._cloud.credentials.session_seconds = body["seconds"]
            case ["deploy"]:
                self._cloud.installations[0].install(body["context"])
            case ["schedules", name]:
                self._fire(name)
            case ["functions", name, "kill"]:
                self._cloud.lambdas.kill(name)
            case ["functions", "warm"]:
                self._cloud.lambdas.warm(body.get("names"))
            case ["tasks", name, "kill"]:
                self._cloud.tasks.kill(name)
            case ["tasks", name, "interrupt"]:
                self._cloud.tasks.interrupt(name)
            case _:
                raise KeyError("/".join(parts))
        return {}

    def _fire(self, name: str) -> None:
        """Run the rule of this name, or else what EventBridge Scheduler has of it. Raise KeyError."""
        try:
            self._cloud.events.fire(name)
        except KeyError:
            self._cloud.schedules.fire(name)

    def _metadata(self, task: str) -> dict[str, Any]:
        """Answer as the task metadata endpoint does: a task learns from it which one it is. Raise KeyError."""
        described = next((item.describe() for item in self._cloud.tasks.all() if item.id == task), None)
        if described is None:
            raise KeyError(task)
        return {"Cluster": described["clusterArn"], "TaskARN": described["taskArn"]}

    def _permissions(self) -> dict[str, Any]:
        granted = self._cloud.policies.granted()
        denied = [dataclasses.asdict(call) for call in self._cloud.gateway.recorded() if not call.allowed]
        return {"granted": [dataclasses.asdict(item) for item in granted], "denied": denied}


def _show(page: Page, start_response: StartResponse) -> Iterable[bytes]:
    content = page.content.encode(errors="replace")
    start_response(f"{page.status.value} {page.status.phrase}", [*page.headers, ("Content-Length", str(len(content)))])
    return [content]

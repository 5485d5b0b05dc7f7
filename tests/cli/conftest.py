"""A small server in place of Tidegate's HTTP API, and the command line pointed at it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from typer.testing import CliRunner

from tests.cli.answers import completed
from tidegate_cli.main import app

TOKEN = "a-token-that-nobody-may-see"
NOW = "2026-03-02T09:00:00.000000+00:00"
SHA = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    body: Any
    token: str


@dataclass
class Api:
    """Answers by ``METHOD /path``: a document, a (status, document[, headers]), or what a function returns for it.

    A list is answered one by one; its last one stays.
    """

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    def answer(self, asked: Asked) -> tuple[int, Any, dict[str, str]]:
        self.asked.append(asked)
        found = self.answers.get(f"{asked.method} {asked.path}", refused(404, "not_found", "There is no such thing."))
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        if callable(found):
            found = found(asked)
        status, document, *headers = found if isinstance(found, tuple) else (200, found)
        if status < 400:  # An error.
            document = completed(f"{asked.method} {asked.path}", document)
        return status, document, headers[0] if headers else {}

    def bodies(self, route: str) -> list[Any]:
        return [asked.body for asked in self.asked if f"{asked.method} {asked.path}" == route]


def refused(status: int, code: str, message: str, **headers: str) -> tuple[int, Any, dict[str, str]]:
    return status, {"error": {"code": code, "message": message}}, headers


def brief(**fields: Any) -> dict[str, Any]:
    return {
        "id": "orders-0123456-0a1b2c3d4e5f",
        "repository": "acme/live",
        "root": "orders",
        "revision": SHA,
        "branch": "main",
        "trigger": "merge",
        "requested_by": "developer",
        "requested_at": NOW,
        "state": "awaiting_review",
        "reason": "",
        "error": "",
        "changed_at": NOW,
        "changes": {"add": 3, "change": 1, "destroy": 2, "replace": 0, "outputs": 0, "moved": 0, "actions": 0,
                    "deferred": 0, "destroyed": [], "replaced": []},
        "pull_request": None,
        "forced": False,
        "rerun_of": None,
        "url": "https://tidegate.example.com/deployments/orders-0123456-0a1b2c3d4e5f",
    } | fields  # fmt: skip


def details(**fields: Any) -> dict[str, Any]:
    made = brief() | {
        "workspace": "default",
        "directory": "live/orders",
        "authors": ["developer"],
        "must_review": None,
        "plan_digest": "ab" * 32,
        "engine_version": "1.11.4",
        "review": {"asked_at": NOW, "approved": None, "by": None, "at": None, "approvals": []},
        "review_rule": {"when": "always", "approvals": 1, "exclude_authors": False},
        "unlocked": None,
        "jobs": [{"id": "orders-0123456-0a1b2c3d4e5f-plan-1", "kind": "plan", "attempt": 1, "url": ""}],
        "history": [{"state": "queued", "at": NOW, "by": "developer", "reason": ""}],
        "audited": [],
        "last_lines": "",
        "check_run_url": "https://forge.example.com/acme/live/runs/7",
        "execution_url": None,
    }
    return made | fields


LOCK = {"by": "maintainer", "at": NOW, "revision": SHA, "reason": "0123456 was deployed by hand.", "deployment": "x"}


def root(**fields: Any) -> dict[str, Any]:
    return {
        "name": "orders",
        "deployed_revision": SHA,
        "deployed_by": None,
        "lock": None,
        "running": None,
        "last": None,
        "waiting": 0,
        "url": "https://tidegate.example.com/queue",
    } | fields


@pytest.fixture
def api() -> Iterator[Api]:
    known = Api()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            split = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            asked = Asked(self.command, unquote(split.path), dict(parse_qsl(split.query)), body, token)
            status, document, headers = known.answer(asked)
            data = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PUT = do_GET  # The name that the server looks for.

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
    thread.start()
    known.url = f"http://127.0.0.1:{server.server_port}"
    yield known
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """No address, no token and no local cloud from the machine that runs the tests."""
    for name in [name for name in os.environ if name.startswith(("TIDEGATE_", "GITHUB_", "GH_", "CI_", "ACTIONS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def tidegate(api: Api) -> Callable[..., Any]:
    """Run the command line against ``api``, signed in."""

    def run(*words: str, typed: str = "", **environment: str) -> Any:
        known = {"TIDEGATE_URL": api.url, "TIDEGATE_TOKEN": TOKEN, **environment}
        given = {name: value or None for name, value in known.items()}
        result = CliRunner().invoke(app, list(words), input=typed, env=given)
        assert TOKEN not in result.output
        assert "Traceback" not in result.output
        return result

    return run

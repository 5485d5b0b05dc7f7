"""Stands between the forge and Tidegate: tells to the millisecond which webhook was sent when.

The forge is pointed at the relay, and the relay passes every webhook on at once. So nobody has to ask
the forge again and again whether a check run has changed: asking would slow down what is measured.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import httpx

VISIBILITY_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Sent:
    """A webhook as the forge sent it, and when (``time.time()``)."""

    at: float
    event: str
    payload: dict[str, Any]


class Relay:
    """Passes the webhooks of one repository on to ``target`` and keeps them for ``next``; drops all others."""

    def __init__(self, target: str, repository: str) -> None:
        self._arrived: queue.SimpleQueue[Sent] = queue.SimpleQueue()
        self._server = _Server(("127.0.0.1", 0), target, repository, self._arrived)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def next(self) -> Sent:
        """Return the next webhook; wait for it if need be. Raise queue.Empty after five minutes."""
        return self._arrived.get(timeout=VISIBILITY_SECONDS)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], target: str, repository: str, arrived: queue.SimpleQueue[Sent]
    ) -> None:
        self.target, self.repository, self.arrived = target, repository, arrived
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Note a webhook, and pass it on."""
        at = time.time()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        payload = json.loads(body)
        status, content = 200, b""
        if payload["repository"]["full_name"] == self.server.repository:
            self.server.arrived.put(Sent(at, self.headers["X-GitHub-Event"], payload))
            status, content = self._pass_on(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _pass_on(self, body: bytes) -> tuple[int, bytes]:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in {"host", "connection"}}
        answer = httpx.post(self.server.target, content=body, headers=headers, timeout=30, trust_env=False)
        return answer.status_code, answer.content

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class.
        """Say nothing."""

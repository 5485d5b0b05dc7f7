"""Lambda's Runtime API for one function instance: what awslambdaric talks to.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True)
class Invocation:
    """One event for the function. ``payload`` is the answer, ``failed`` tells that the function raised."""

    id: str
    event: bytes
    arn: str
    timeout: float
    payload: bytes = b""
    failed: bool = False
    answered: threading.Event = field(default_factory=threading.Event)

    def answer(self, payload: bytes, *, failed: bool) -> None:
        """Settle the invocation, once."""
        if not self.answered.is_set():
            self.payload, self.failed = payload, failed
            self.answered.set()


class RuntimeApi:
    """Serves one function instance on a port of its own. ``idle`` is set while it waits for an event."""

    def __init__(self) -> None:
        self.events: queue.Queue[Invocation | None] = queue.Queue()
        self.ready = threading.Event()
        self.init_error: bytes | None = None
        self.current: Invocation | None = None
        self._server = _Server(("127.0.0.1", 0), self)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 30}, name="runtime-api", daemon=True
        ).start()

    def close(self) -> None:
        """Stop serving."""
        self.events.put(None)
        threading.Thread(target=self._shut, daemon=True).start()

    def _shut(self) -> None:
        self._server.socket.close()
        self._server.shutdown()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], api: RuntimeApi) -> None:
        self.api = api
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The instance died in mid-call: its runner reports that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class.
        """Say nothing."""

    def do_GET(self) -> None:
        """Hand out the next event, when there is one."""
        api = self.server.api
        api.current = None
        api.ready.set()
        invocation = api.events.get()
        if invocation is None:
            self.close_connection = True
            return
        api.current = invocation
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + invocation.timeout) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": invocation.arn,
            "Lambda-Runtime-Trace-Id": f"Root=1-{int(time.time()):08x}-{invocation.id.replace('-', '')[:24]};Sampled=0",
            "Content-Type": "application/json",
        }
        self._reply(200, invocation.event, headers)

    def do_POST(self) -> None:
        """Take an answer or an error."""
        body = self._body()
        api = self.server.api
        if self.path.endswith("/init/error"):
            api.init_error = body
            api.ready.set()
        elif api.current is not None and api.current.id in self.path:
            api.current.answer(body, failed=self.path.endswith("/error"))
        self._reply(202, b'{"status":"OK"}', {"Content-Type": "application/json"})

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

"""What the stand-ins for forges have in common: a server of this machine only, webhooks, calls that fail on demand."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Protocol, Self
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from tidegate_local.forge.faults import Fault, Faults
from tidegate_local.forge.http_server import BackgroundServer
from tidegate_local.forge.store import Store


class Webhooks(Protocol):
    """Sends webhooks in the background."""

    def start(self) -> None:
        """Begin to send."""

    def stop(self) -> None:
        """Stop to send; what was not sent stays."""


class StandIn:
    """A forge that listens on this machine only. ``port`` 0 takes any free one.

    The port is taken at once, as addresses are made with it; ``_open`` then says who answers.
    """

    _application: WSGIApplication
    _webhooks: Webhooks

    def __init__(self, store: Store, faults: Faults, host: str, port: int) -> None:
        self.faults = faults
        self._store = store
        self._server = BackgroundServer(self._respond, host, port)
        self.port = self._server.port
        self.url = f"http://localhost:{self.port}" if host == "127.0.0.1" else f"http://{host}:{self.port}"
        self._stopping = False

    def _open(self, application: WSGIApplication, webhooks: Webhooks) -> None:
        self._application, self._webhooks = application, webhooks

    def _respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if self._stopping:  # A page that is open asks on over the connection that it has.
            start_response("503 Service Unavailable", [("Connection", "close"), ("Content-Length", "0")])
            return []
        return self._application(environ, start_response)

    def start(self) -> None:
        """Begin to answer and to send webhooks."""
        self._webhooks.start()
        self._server.start()

    def stop(self) -> None:
        """Stop to answer; what was stored stays."""
        self._stopping = True
        self.faults.close()
        self._server.stop()
        self._webhooks.stop()
        self._store.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def inject(self, fault: Fault) -> None:
        """Let coming calls fail."""
        self.faults.inject(fault)

"""Common parts of the stand-ins for VCS providers: a local server, webhooks, fault injection."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from types import TracebackType
from typing import Self
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.wrappers import Request, Response

from tidegate_local.forge import local_api
from tidegate_local.forge.calls import Calls
from tidegate_local.forge.faults import Fault, Faults
from tidegate_local.forge.hooks import Webhooks
from tidegate_local.forge.http_server import BackgroundServer, Hangup
from tidegate_local.forge.routing import answer
from tidegate_local.forge.store import Store

log = logging.getLogger(__name__)


class Answering:
    """Answers requests as a forge does, fails those that somebody asked to fail, and remembers those of programs."""

    def __init__(self, webhooks: Webhooks, faults: Faults) -> None:
        self._webhooks, self._faults, self._calls = webhooks, faults, Calls()

    def is_program(self, request: Request) -> bool:
        """Tell whether a program sends a request: others never fail on demand."""
        raise NotImplementedError

    def path_of(self, request: Request) -> str:
        """Return the path by which a call fails on demand and is remembered."""
        return request.path

    def answer(self, request: Request) -> Response:
        """Return the forge's answer to a request. Raise what ``refused`` knows."""
        raise NotImplementedError

    def refused(self, request: Request, error: Exception) -> Response:
        """Return the answer that tells of an error."""
        raise NotImplementedError

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        try:
            response = self._respond(request)
        except Hangup:
            raise
        except Exception as error:
            if not hasattr(error, "status"):  # It is no refusal.
                log.exception("%s %s failed", request.method, request.path)
            response = self.refused(request, error)
        return response(environ, start_response)

    def _respond(self, request: Request) -> Response:
        if (request.method, request.path) == ("GET", "/_local/calls"):
            return answer({"calls": self._calls.described()})
        if request.path.startswith("/_local/"):
            return local_api.respond(self._webhooks, self._faults, request)
        if not self.is_program(request):
            return self.answer(request)
        path = self.path_of(request)
        self._calls.add(request, path)
        fault = self._faults.take(request.method, path)
        if fault is None:
            return self.answer(request)
        if fault.after:
            self.answer(request)
        raise self._faults.failure(fault)


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

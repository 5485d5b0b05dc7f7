"""A small threaded HTTP/1.1 server for WSGI applications: the local forge's, with moto's request parsing.

Connections stay open and nothing waits for a delayed acknowledgement. Werkzeug's own server would open a
connection and a thread for every AWS call, and wait 10 ms after each answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast
from wsgiref.types import WSGIApplication

from moto.moto_server.werkzeug_app import MotoRequestHandler

from tidegate_local.forge.http_server import BackgroundServer, KeepAliveHandler

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


class _Handler(KeepAliveHandler, MotoRequestHandler):
    """Reads header names with underscores as moto's own server does: S3's metadata has them."""

    #: Longer than any client that is used here keeps an idle connection in mind.
    timeout = 600

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - its name in the base class.
        """Say nothing: the calls are recorded by whoever serves them."""


class HttpServer(BackgroundServer):
    """Serves a WSGI application on a port of the loopback interface (0: any free port)."""

    def __init__(self, application: Application, port: int = 0, host: str = "127.0.0.1") -> None:
        super().__init__(cast(WSGIApplication, application), host, port, _Handler)
        self.url = f"http://{host}:{self.port}"

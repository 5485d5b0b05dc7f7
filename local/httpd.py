"""A small threaded HTTP/1.1 server for WSGI applications: keep-alive, no Nagle delay.

werkzeug's server does the work. Without TCP_NODELAY a small answer waits for the client's delayed
acknowledgement: about 40 ms a call on a loopback interface.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import BaseWSGIServer, make_server

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


class _Handler(MotoRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - its name in the base class.
        """Say nothing: the calls are recorded by whoever serves them."""


class HttpServer:
    """Serves a WSGI application on a port of the loopback interface (0: any free port)."""

    def __init__(self, application: Application, port: int = 0, host: str = "127.0.0.1") -> None:
        self._server: BaseWSGIServer = make_server(host, port, application, threaded=True, request_handler=_Handler)
        self._server.daemon_threads = True  # type: ignore[attr-defined]
        self._server.block_on_close = False  # type: ignore[attr-defined]
        self.port: int = self._server.server_port
        self.url = f"http://{host}:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name=f"http-{self.port}", daemon=True
        )

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

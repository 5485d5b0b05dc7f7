"""A threaded HTTP/1.1 server for one WSGI application, with connections that stay open.

Werkzeug's own server closes every connection, and waits 10 ms to do so; its parsing is used here.
"""

from __future__ import annotations

import itertools
import logging
import socket
import threading
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler
from werkzeug.wsgi import LimitedStream

log = logging.getLogger(__name__)

#: An idle connection is closed after this many seconds, so that threads end.
IDLE_SECONDS = 30


class Hangup(Exception):
    """The application wants the connection closed without an answer."""


class KeepAliveHandler(WSGIRequestHandler):
    """Answers one request after the other on a connection."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    wbufsize = -1
    disable_nagle_algorithm = True

    def run_wsgi(self) -> None:
        if self.headers.get("Expect", "").strip().lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()
        environ = self._environment()
        try:
            self._answer(environ)
            _drain(environ["wsgi.input"])
        except (Hangup, ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception:
            log.exception("%s %s failed", self.command, self.path)
            self.close_connection = True

    def _environment(self) -> WSGIEnvironment:
        environ = self.make_environ()
        if not environ.get("wsgi.input_terminated"):
            length = int(environ.get("CONTENT_LENGTH") or 0)
            environ["wsgi.input"] = LimitedStream(environ["wsgi.input"], length)
            environ["wsgi.input_terminated"] = True
        return environ

    def _answer(self, environ: WSGIEnvironment) -> None:
        heads: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
            del exc_info
            heads.append((status, headers))
            return self.wfile.write

        body = self.server.app(environ, start_response)
        try:
            self._send(environ, heads, body)
        finally:
            if hasattr(body, "close"):
                body.close()

    def _send(self, environ: WSGIEnvironment, heads: list[Any], body: Iterable[bytes]) -> None:
        # After a head that announces no body, one would be taken for the next answer.
        pieces = iter(() if environ["REQUEST_METHOD"] == "HEAD" else body)
        first = next(pieces, b"")
        chunked = self._send_head(environ, *heads[-1])
        for piece in itertools.chain((first,), pieces):
            self._send_piece(piece, chunked=chunked)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _send_head(self, environ: WSGIEnvironment, status: str, headers: list[tuple[str, str]]) -> bool:
        code, _, reason = status.partition(" ")
        self.send_response(int(code), reason)
        for name, value in headers:
            self.send_header(name, value)
        sized = any(name.lower() == "content-length" for name, _ in headers)
        bodyless = environ["REQUEST_METHOD"] == "HEAD" or int(code) in {204, 304}
        chunked = not sized and not bodyless
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        return chunked

    def _send_piece(self, piece: bytes, *, chunked: bool) -> None:
        if piece and chunked:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        elif piece:
            self.wfile.write(piece)

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        log.debug('"%s" %s %s', self.requestline, code, size)

    def log_error(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class names it
        log.debug(format, *arguments)


class _Server(ThreadedWSGIServer):
    daemon_threads = True
    request_queue_size = 128


class BackgroundServer:
    """Serves ``app`` on ``host:port`` (0: any free port) in threads until ``stop``."""

    def __init__(
        self, app: WSGIApplication, host: str, port: int, handler: type[KeepAliveHandler] = KeepAliveHandler
    ) -> None:
        self._server = _Server(host, port, app, handler=handler)
        self._server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="forge", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Stop to answer and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _drain(stream: Any) -> None:
    while stream.read(65_536):
        pass


__all__ = ["BackgroundServer", "Hangup", "KeepAliveHandler", "StartResponse"]

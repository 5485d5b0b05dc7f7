"""A server on this machine that answers as a test says, and remembers what came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[int, dict[str, str], bytes]
Responder = Callable[["Received"], Answer]


class Received:
    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes, peer: object) -> None:
        self.method, self.path, self.headers, self.body, self.peer = method, path, headers, body, peer


@contextmanager
def server(responder: Responder) -> Iterator[tuple[str, list[Received]]]:
    received: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:
                self.close_connection = True

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Received(self.command, self.path, headers, body, self.client_address)
            received.append(request)
            status, more, content = responder(request)
            if status == 0:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        # http.server's names.
        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, *arguments: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}", received
    finally:
        http.shutdown()
        thread.join()
        http.server_close()

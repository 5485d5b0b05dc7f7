"""Exchange one small request and answer over a connection of http.client, at a third of http.client's own cost.

http.client sends head and body separately and parses headers as e-mail. For calls of a few hundred bytes, three for
each webhook, that costs more than everything else of a webhook.
"""

from __future__ import annotations

import http.client
import socket
from collections.abc import Mapping
from typing import NamedTuple

_RECEIVED_AT_ONCE = 65_536
_LONGEST_HEAD = 65_536
_WITHOUT_BODY = frozenset({204, 304})


class SmallAnswer(NamedTuple):
    """A completely read answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    will_close: bool

    def read(self) -> bytes:
        return self.content


def exchange(
    connection: http.client.HTTPConnection, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> SmallAnswer:
    """Send a request and return its answer. Raise OSError and HTTPException, as http.client does.

    ``headers`` are complete (host, content-length) and contain no line breaks.
    """
    if connection.sock is None:
        connection.connect()
    lines = [f"{method} {path or '/'} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()], "\r\n"]
    connection.sock.sendall("\r\n".join(lines).encode("latin-1") + body)
    return _Reader(connection.sock).answer()


class _Reader:
    """Reads one answer from a socket."""

    def __init__(self, source: socket.socket) -> None:
        self._socket = source
        self._data = b""

    def answer(self) -> SmallAnswer:
        status_line, *lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        if not status_line.startswith("HTTP/1.") or not status_line[9:12].isdigit():
            raise http.client.BadStatusLine(status_line[:100])
        status = int(status_line[9:12])
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        closes = headers.get("connection", "").lower() == "close" or status_line.startswith("HTTP/1.0")
        if "chunked" in headers.get("transfer-encoding", ""):
            content = self._chunks()
        elif "content-length" in headers:
            content = self._exactly(int(headers["content-length"]))
        elif status in _WITHOUT_BODY:
            content = b""
        else:
            content, closes = self._rest(), True
        return SmallAnswer(status, headers, content, closes)

    def _more(self) -> None:
        received = self._socket.recv(_RECEIVED_AT_ONCE)
        if not received:
            raise http.client.RemoteDisconnected("The server closed the connection before its response was complete")
        self._data += received

    def _until(self, mark: bytes) -> bytes:
        """Return what comes before ``mark``, and leave what comes after it."""
        while (end := self._data.find(mark)) < 0:
            if len(self._data) > _LONGEST_HEAD:
                raise http.client.LineTooLong("head")
            self._more()
        found, self._data = self._data[:end], self._data[end + len(mark) :]
        return found

    def _exactly(self, length: int) -> bytes:
        parts, missing = [self._data[:length]], length - len(self._data)
        self._data = self._data[length:]
        while missing > 0:
            self._more()
            parts.append(self._data[:missing])
            missing, self._data = missing - len(self._data), self._data[missing:]
        return b"".join(parts)

    def _chunks(self) -> bytes:
        parts = []
        while size := int(self._until(b"\r\n").partition(b";")[0], 16):
            parts.append(self._exactly(size))
            self._until(b"\r\n")
        while self._until(b"\r\n"):
            pass
        return b"".join(parts)

    def _rest(self) -> bytes:
        parts = [self._data]
        while received := self._socket.recv(_RECEIVED_AT_ONCE):
            parts.append(received)
        return b"".join(parts)

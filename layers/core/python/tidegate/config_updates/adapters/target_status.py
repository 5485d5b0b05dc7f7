"""Read status URLs: https, at addresses that the installation allows, and never elsewhere.

The name is resolved once, and the connection goes to that address: a second answer of the DNS cannot lead elsewhere.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from tidegate.config_updates.rules.status import Network, StatusRefused, address_problem

#: A status is a few fields: the largest that is read, in bytes, and the seconds that all of it may take.
MOST_BYTES, MOST_SECONDS = 64 * 1024, 5.0
_PORT = 443


class HttpsTargetStatuses:
    """The port ``TargetStatuses``. ``allowed`` are networks besides the public addresses, ``context`` is TLS's."""

    def __init__(
        self, allowed: Sequence[Network] = (), context: ssl.SSLContext | None = None, seconds: float = MOST_SECONDS
    ) -> None:
        self._allowed = allowed
        self._context = context or ssl.create_default_context()
        self._seconds = seconds

    def read(self, url: str) -> bytes:
        address = urlsplit(url)
        if address.scheme != "https" or not address.hostname:
            raise StatusRefused("A status URL begins with https://.")
        path = (address.path or "/") + (f"?{address.query}" if address.query else "")
        try:
            return self._get(address.hostname, address.port or _PORT, path)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise StatusRefused(f"{address.hostname} did not answer: {type(error).__name__}.") from error

    def _get(self, host: str, port: int, path: str) -> bytes:
        connection = http.client.HTTPSConnection(host, port, timeout=self._seconds, context=self._context)
        opened = socket.create_connection((self._resolved(host, port), port), timeout=self._seconds)
        wrapped = self._context.wrap_socket(opened, server_hostname=host, do_handshake_on_connect=False)
        limit = _Limit(self._seconds, wrapped)
        limit.start()
        try:
            wrapped.do_handshake()
            connection.sock = wrapped
            connection.request("GET", path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            if answer.status != http.client.OK:
                raise StatusRefused(f"{host} answered {answer.status}. Redirects are not followed.")
            body = answer.read(MOST_BYTES + 1)
        finally:
            limit.cancel()
            wrapped.close()
        if limit.exceeded:
            raise StatusRefused(f"{host} did not answer within {self._seconds:g} seconds.")
        if len(body) > MOST_BYTES:
            raise StatusRefused(f"{host} answered more than {MOST_BYTES} bytes.")
        return body

    def _resolved(self, host: str, port: int) -> str:
        """Return an address of a host. One that may not be connected to refuses the host."""
        found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        for each in found:
            if problem := address_problem(each, self._allowed):
                raise StatusRefused(f"{host}: {problem}")
        return found[0]


class _Limit(threading.Timer):
    """Ends a connection that exceeds its time, also while it sends byte after byte."""

    def __init__(self, seconds: float, opened: socket.socket) -> None:
        super().__init__(seconds, self._cut)
        self.daemon = True
        self.exceeded = False
        self._opened = opened

    def _cut(self) -> None:
        self.exceeded = True
        with suppress(OSError):
            socket.socket.shutdown(self._opened, socket.SHUT_RDWR)  # TLS has no say: the other thread still uses it.

"""Give git the job's credentials under the engine, which never has the token itself (docs/decisions/0201).

OpenTofu evaluates expressions of a pull request while it fetches modules and initializes. They can read files,
including its own environment, but cannot connect to a port.
"""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

from runner.workspace import plain_address

_HELPER = Path(__file__).with_name("credential_helper.py")
#: Lines of a request, and bytes of one.
_MOST_LINES, _LONGEST = 50, 4096
_SECONDS = 10.0
_POLL_SECONDS = 0.02


@contextmanager
def answering(token: str, addresses: Collection[str]) -> Iterator[str]:
    """Answer git's credential requests for these repositories until the context ends; yield the helper's command."""
    known = frozenset(map(plain_address, addresses))

    class Handler(StreamRequestHandler):
        timeout = _SECONDS

        def handle(self) -> None:
            asked = dict(self._fields())
            if plain_address("{protocol}://{host}/{path}".format_map(_Missing(asked))) in known:
                self.wfile.write(f"username=x-access-token\npassword={token}\n".encode())

        def _fields(self) -> Iterator[tuple[str, str]]:
            """Yield the fields of a request; none for anything else, such as an HTTP request."""
            for _ in range(_MOST_LINES):
                line = self.rfile.readline(_LONGEST).decode("utf-8", "replace").removesuffix("\n")
                name, equals, value = line.partition("=")
                if not equals or " " in name:
                    return
                yield name, value

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,), name="credentials", daemon=True).start()
        try:
            port = server.server_address[1]
            yield f"!{shlex.join([sys.executable, '-I', '-S', str(_HELPER), str(port)])}"
        finally:
            server.shutdown()


class _Missing(dict[str, str]):
    """Fields; missing ones are empty."""

    def __missing__(self, _name: str) -> str:
        return ""

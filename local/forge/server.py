"""The local forge as one object: start it on a port, stop it; what it stores survives in its directory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self
from wsgiref.types import StartResponse, WSGIEnvironment

from cryptography.hazmat.primitives import serialization

from local.forge.application import Application
from local.forge.faults import Fault, Faults
from local.forge.hosting import Hosting
from local.forge.http_server import BackgroundServer
from local.forge.identity import Identities
from local.forge.records import Repository
from local.forge.settings import Settings, app_key
from local.forge.store import Store
from local.forge.urls import Urls


class Forge:
    """A GitHub stand-in that listens on this machine only.

    ``directory`` keeps repositories, records and the App's key; ``port`` 0 takes any free one.
    """

    def __init__(
        self, directory: Path, *, port: int = 0, host: str = "127.0.0.1", settings: Settings | None = None
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.settings = settings or Settings()
        self.app_private_key = app_key(directory)
        self.faults = Faults()
        self._store = Store(directory / "forge.sqlite3")
        self._server = BackgroundServer(self._respond, host, port)
        self.port = self._server.port
        self.url = f"http://localhost:{self.port}" if host == "127.0.0.1" else f"http://{host}:{self.port}"
        identities = Identities(self.settings, _public(self.app_private_key), self._store)
        self.hosting = Hosting(self.settings, self._store, identities, Urls(self.url), directory / "repositories")
        self._application = Application(self.hosting, self.faults)
        self._stopping = False

    @property
    def api_url(self) -> str:
        """The address of the REST API, as on a GitHub Enterprise server."""
        return self.hosting.urls.api

    def _respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if self._stopping:  # A page that is open asks on over the connection that it has.
            start_response("503 Service Unavailable", [("Connection", "close"), ("Content-Length", "0")])
            return []
        return self._application(environ, start_response)

    def start(self) -> None:
        """Begin to answer and to send webhooks."""
        self.hosting.webhooks.start()
        self._server.start()

    def stop(self) -> None:
        """Stop to answer; what was stored stays."""
        self._stopping = True
        self.faults.close()
        self._server.stop()
        self.hosting.webhooks.stop()
        self._store.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def point_webhook_at(self, url: str | None, secret: str) -> None:
        """Send webhooks to ``url``, signed with ``secret``."""
        self.hosting.webhooks.point_at(url, secret)

    def create_repository(self, full_name: str) -> Repository:
        """Make an empty repository ``owner/name``. Raise Refusal."""
        owner, _, name = full_name.partition("/")
        return self.hosting.create_repository(owner, name)

    def installation(self, owner: str) -> int:
        """Return the id of the App's installation on an account."""
        return self.hosting.identities.account(owner).id

    def inject(self, fault: Fault) -> None:
        """Let coming calls fail."""
        self.faults.inject(fault)


def _public(private_key: str) -> str:
    key = serialization.load_pem_private_key(private_key.encode(), password=None)
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )

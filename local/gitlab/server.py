"""A local GitLab as one object: start it on a port, stop it; what it stores survives in its directory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self
from wsgiref.types import StartResponse, WSGIEnvironment

from local.forge.faults import Fault, Faults
from local.forge.http_server import BackgroundServer
from local.forge.store import Store
from local.gitlab.application import Application
from local.gitlab.hosting import Hosting
from local.gitlab.identity import Identities
from local.gitlab.records import Project
from local.gitlab.refusals import FAULTS
from local.gitlab.settings import Settings
from local.gitlab.urls import Urls


class GitLab:
    """A GitLab stand-in that listens on this machine only.

    ``directory`` keeps repositories and records; ``port`` 0 takes any free one.
    """

    def __init__(
        self, directory: Path, *, port: int = 0, host: str = "127.0.0.1", settings: Settings | None = None
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.settings = settings or Settings()
        self.faults = Faults(FAULTS)
        self._store = Store(directory / "gitlab.sqlite3")
        self._server = BackgroundServer(self._respond, host, port)
        self.port = self._server.port
        self.url = f"http://localhost:{self.port}" if host == "127.0.0.1" else f"http://{host}:{self.port}"
        identities = Identities(self.settings, self._store)
        self.hosting = Hosting(self.settings, self._store, identities, Urls(self.url), directory / "repositories")
        self._application = Application(self.hosting, self.faults)
        self._stopping = False

    @property
    def api_url(self) -> str:
        """The address of the REST API."""
        return self.hosting.urls.api

    @property
    def bot_token(self) -> str:
        """The token with which the product calls the API."""
        return self.settings.bot_token

    @property
    def clone_token(self) -> str:
        """The token with which the product reads repositories."""
        return self.settings.clone_token

    def _respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if self._stopping:
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

    def point_webhook_at(self, url: str | None, token: str) -> None:
        """Send the events of all projects to ``url``, with ``token`` in X-Gitlab-Token."""
        self.hosting.webhooks.point_at(url, token)

    def create_project(self, path: str) -> Project:
        """Make an empty project and the groups above it. Raise Refusal."""
        return self.hosting.create_project(path)

    def inject(self, fault: Fault) -> None:
        """Let coming calls fail."""
        self.faults.inject(fault)

"""A local GitLab as one object: start it on a port, stop it; what it stores survives in its directory."""

from __future__ import annotations

from pathlib import Path

from tidegate_local.forge.faults import Faults
from tidegate_local.forge.settings import app_key as signing_key
from tidegate_local.forge.stand_in import StandIn
from tidegate_local.forge.store import Store
from tidegate_local.gitlab.application import Application
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.identity import Identities
from tidegate_local.gitlab.oidc import Issuer
from tidegate_local.gitlab.records import Project
from tidegate_local.gitlab.refusals import FAULTS
from tidegate_local.gitlab.settings import Settings
from tidegate_local.gitlab.urls import Urls


class GitLab(StandIn):
    """A GitLab stand-in. ``directory`` keeps repositories and records."""

    def __init__(
        self, directory: Path, *, port: int = 0, host: str = "127.0.0.1", settings: Settings | None = None
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.settings = settings or Settings()
        super().__init__(Store(directory / "gitlab.sqlite3"), Faults(FAULTS), host, port)
        identities = Identities(self.settings, self._store)
        self.hosting = Hosting(self.settings, self._store, identities, Urls(self.url), directory / "repositories")
        #: Issues tokens as GitLab CI does.
        self.issuer = Issuer(self.hosting, lambda: signing_key(directory))
        self._open(Application(self.hosting, self.faults, self.issuer), self.hosting.webhooks)

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

    def point_webhook_at(self, url: str | None, token: str) -> None:
        """Send the events of all projects to ``url``, with ``token`` in X-Gitlab-Token."""
        self.hosting.webhooks.point_at(url, token)

    def create_project(self, path: str) -> Project:
        """Make an empty project and the groups above it. Raise Refusal."""
        return self.hosting.create_project(path)

"""The local forge as one object: start it on a port, stop it; what it stores survives in its directory."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives import serialization

from tidegate_local.forge.application import Application
from tidegate_local.forge.faults import Faults
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.identity import Identities
from tidegate_local.forge.oidc import Issuer
from tidegate_local.forge.records import Repository
from tidegate_local.forge.settings import Settings, app_key
from tidegate_local.forge.stand_in import StandIn
from tidegate_local.forge.store import Store
from tidegate_local.forge.urls import Urls


class Forge(StandIn):
    """A GitHub stand-in. ``directory`` keeps repositories, records and the App's key."""

    def __init__(
        self, directory: Path, *, port: int = 0, host: str = "127.0.0.1", settings: Settings | None = None
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.settings = settings or Settings()
        self.app_private_key = app_key(directory)
        super().__init__(Store(directory / "forge.sqlite3"), Faults(), host, port)
        identities = Identities(self.settings, _public(self.app_private_key), self._store)
        self.hosting = Hosting(self.settings, self._store, identities, Urls(self.url), directory / "repositories")
        self.hosting.manifests.private_key = self.app_private_key
        #: Issues tokens as GitHub Actions does.
        self.issuer = Issuer(self.hosting, self.app_private_key)
        self._open(Application(self.hosting, self.faults, self.issuer), self.hosting.webhooks)

    @property
    def api_url(self) -> str:
        """The address of the REST API, as on a GitHub Enterprise server."""
        return self.hosting.urls.api

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


def _public(private_key: str) -> str:
    key = serialization.load_pem_private_key(private_key.encode(), password=None)
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )

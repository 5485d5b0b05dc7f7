"""The state behind the forge's pages and API: accounts, repositories, and their records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tidegate_local.forge import clock, shapes, webhook_headers
from tidegate_local.forge.git import BareRepository
from tidegate_local.forge.hooks import Event, Webhooks
from tidegate_local.forge.identity import Identities
from tidegate_local.forge.manifests import Manifests
from tidegate_local.forge.records import Account, PullRequest, Repository
from tidegate_local.forge.refusals import invalid
from tidegate_local.forge.repositories import Repositories
from tidegate_local.forge.settings import Settings
from tidegate_local.forge.shapes import Json
from tidegate_local.forge.store import Store
from tidegate_local.forge.urls import Urls

_OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
#: The domain of the addresses that people of this forge commit with.
NO_REPLY = "users.noreply.forge.invalid"
#: First parts of the forge's own pages: no account may be called so.
RESERVED = frozenset({"api", "login", "settings", "apps", "static", "orgs", "users"})


class Hosting(Repositories):
    """Everything behind the forge's pages and API."""

    def __init__(self, settings: Settings, store: Store, identities: Identities, urls: Urls, directory: Path) -> None:
        super().__init__(store, directory)
        self.settings, self.identities, self.urls = settings, identities, urls
        target = (settings.webhook_url, settings.webhook_secret)
        self.webhooks = Webhooks(store, webhook_headers.of_app(settings), settings.webhook_timeout, target)
        self.manifests = Manifests(self)

    def repository(self, name: str) -> Repository | None:
        """Return the repository called ``owner/name``, whatever the case."""
        everything = self.store.find(Repository)
        return next((one for one in everything if one.repository.lower() == name.lower()), None)

    def repositories(self) -> list[Repository]:
        """Return all repositories, by name."""
        return sorted(self.store.find(Repository), key=lambda one: one.repository.lower())

    def create_repository(
        self, owner: str, name: str, default_branch: str = "main", *, private: bool = True
    ) -> Repository:
        """Make an empty repository. Raise Refusal (422) for names that GitHub would not take, or that are taken."""
        if not _OWNER.fullmatch(owner) or owner.lower() in RESERVED:
            raise invalid("Repository", "owner", "invalid", "letters, digits and single hyphens")
        if not _NAME.fullmatch(name) or name in {".", ".."} or name.endswith((".git", ".lock")):
            raise invalid("Repository", "name", "invalid", "letters, digits, '.', '-' and '_', at most 100")
        with self._lock:
            if self.repository(f"{owner}/{name}"):
                raise invalid("Repository", "name", "custom", "name already exists on this account")
            account = self.identities.account(owner)
            BareRepository.create(self._path(f"{account.login}/{name}"), default_branch)
            full_name, time = f"{account.login}/{name}", clock.now()
            return self.store.add(
                lambda fresh: Repository(fresh, full_name, default_branch, time, time, private=private)
            )

    def owner(self, repository: Repository) -> Account:
        """Return the account that owns a repository."""
        return self.identities.account(repository.owner)

    def is_installed(self, owner: Account) -> bool:
        """Tell whether the App is installed on an account: on organizations it is, on people (with forks) it is not."""
        return owner.type == "Organization"

    def bot(self, app: str | None = None) -> Account:
        """Return the App's bot, or that of another App."""
        return self.identities.account(f"{app or self.settings.app_slug}[bot]")

    def node_id(self, repository: Repository) -> str:
        """Return a repository's id in the GraphQL API."""
        return f"R_{repository.id}"

    def repository_of_node(self, node_id: str) -> Repository | None:
        """Return the repository with this id in the GraphQL API."""
        return next((one for one in self.store.find(Repository) if self.node_id(one) == node_id), None)

    def account_json(self, login: str) -> Json:
        """Return an account as JSON."""
        return shapes.account(self, self.identities.account(login))

    def linked_account(self, email: str) -> Json | None:
        """Return the account that a commit's e-mail address belongs to; None for addresses of nobody here."""
        login, at, domain = email.partition("@")
        known = bool(at) and domain == NO_REPLY and self.identities.person(login) is not None
        return self.account_json(login) if known else None

    def open_pulls_of(self, repository: str, sha: str) -> list[PullRequest]:
        """Return the open pull requests whose head is this commit; as in GitHub's checks, without those from forks."""
        return self.store.find(PullRequest, repository, head_sha=sha, state="open", fork=None)

    def tell(self, name: str, repository: Repository, sender: str, payload: dict[str, Any]) -> None:
        """Send a webhook about a repository, when the App is installed there."""
        owner = self.owner(repository)
        if not self.is_installed(owner):
            return
        organization = {"id": owner.id, "login": owner.login}
        whole = {
            **payload,
            "repository": shapes.repository(self, repository),
            "organization": organization,
            "sender": self.account_json(sender),
            "installation": {"id": owner.id},
        }
        self.webhooks.send(Event(name, repository.repository, whole, repository.id, owner.id))

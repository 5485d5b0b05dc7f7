"""One visit of a page: who is signed in, and forms that only our own pages can send."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from tidegate_local.forge.git import BareRepository
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.pages import rendering
from tidegate_local.forge.records import Repository
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.settings import Person

COOKIE = "forge_user"


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page, the person who makes it, and the rest of the address."""

    hosting: Hosting
    request: Request
    person: Person
    path: dict[str, Any]

    @property
    def repository(self) -> Repository:
        """The repository of the address. Raises Refusal (404)."""
        found = self.hosting.repository(f"{self.path['owner']}/{self.path['name']}")
        if found is None or self.permission(found) == "none":
            raise not_found()
        return found

    def permission(self, repository: Repository) -> str:
        """Return what the person may do in a repository: admin, write, read or none."""
        return self.hosting.identities.permission(self.person.login, repository)

    @property
    def git(self) -> BareRepository:
        """The repository's git repository."""
        return self.hosting.git(self.repository)

    @property
    def writes(self) -> bool:
        """Whether the person may write to the repository."""
        return self.permission(self.repository) in {"write", "admin"}

    def show(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page with what every page needs."""
        return rendering.page(template, {**self._always(), **values}, status)

    def _always(self) -> Mapping[str, Any]:
        return {
            "person": self.person,
            "people": self.hosting.settings.people,
            "csrf": self.csrf(),
            "live": False,
            "address": self.request.full_path.rstrip("?"),
            "home": self.hosting.urls.home,
            "repository": None,
        }

    def csrf(self) -> str:
        """Return the secret that this person's forms carry."""
        return hmac.new(_key(self.hosting), self.person.login.encode(), hashlib.sha256).hexdigest()

    def form(self) -> Mapping[str, str]:
        """Return a posted form. Raise Refusal (403) when it does not come from our own pages."""
        if not hmac.compare_digest(self.request.form.get("csrf", ""), self.csrf()):
            raise Refusal(403, "This form is out of date. Go back, reload the page and try again.")
        return self.request.form

    def go(self, *path: object) -> Response:
        """Return a redirect to a page of the repository."""
        return redirect(self.hosting.urls.page(self.repository.repository, *path), 303)


def visitor(hosting: Hosting, request: Request) -> Person:
    """Return who is signed in; everybody starts as the first person."""
    login = request.cookies.get(COOKIE, "")
    return hosting.identities.person(login) or hosting.settings.people[0]


def _key(hosting: Hosting) -> bytes:
    key = hosting.store.note("form-key")
    if key is None:
        hosting.store.keep_note("form-key", secrets.token_hex(32))
        key = hosting.store.note("form-key") or ""
    return key.encode()

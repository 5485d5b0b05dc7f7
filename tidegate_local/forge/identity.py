"""Authentication and permissions: the App by its JWT, installations by their tokens, people by theirs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass, field, replace
from typing import Any

import jwt
from werkzeug.wrappers import Request

from tidegate_local.forge import clock
from tidegate_local.forge.records import Account, Repository, Token
from tidegate_local.forge.refusals import Refusal
from tidegate_local.forge.settings import Person, Settings
from tidegate_local.forge.store import Store

#: GitHub accepts App tokens that expire at most this many seconds from now.
LONGEST_JWT = 600
_CLOCK_DRIFT = 60
_LEVELS = {"none": 0, "read": 1, "write": 2, "admin": 3}


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody whose credentials held. ``kind`` is app, installation or person.

    ``permissions`` are the App's; ``repositories`` limits them, None means all of ``owner``'s. ``permission`` is a
    person's; with ``through_app`` the App acts for the person, who then may do only what the App may, too. ``app`` is
    another App's slug: it is installed for all owners.
    """

    kind: str
    login: str
    owner: str = ""
    permission: str = "none"
    permissions: dict[str, str] = field(default_factory=dict)
    repositories: tuple[str, ...] | None = None
    through_app: bool = False
    app: str | None = None

    @property
    def by_app(self) -> bool:
        """Whether the App acts, for itself or for a person."""
        return self.kind == "installation" or self.through_app

    def may(self, what: str) -> bool:
        """Tell whether the caller has a permission such as ``checks:write``."""
        name, _, level = what.partition(":")
        granted = _LEVELS[self.permissions.get(name, "none")] if self.by_app else _LEVELS["admin"]
        own = _LEVELS[self.permission] if self.kind == "person" else granted
        return min(granted, own) >= _LEVELS[level]


class Identities:
    """Turns credentials into callers, and gives out tokens."""

    def __init__(self, settings: Settings, public_key: str, store: Store) -> None:
        self._settings, self._public_key, self._store = settings, public_key, store

    def person(self, login: str) -> Person | None:
        """Return a person by login."""
        return next((person for person in self._settings.people if person.login == login), None)

    def permission(self, login: str, repository: Repository) -> str:
        """Return what somebody may do in a repository: admin, write, read or none."""
        person = self.person(login)
        if person is None:
            return "none"
        if person.login == repository.owner:
            return "admin"
        return "read" if person.permission == "none" and not repository.private else person.permission

    def at(self, caller: Caller, repository: Repository) -> Caller | None:
        """Return the caller with the rights that they have in a repository, None when they cannot see it."""
        if caller.kind == "person":
            permission = self.permission(caller.login, repository)
            if caller.through_app and self.account(repository.owner).type != "Organization":
                return None  # the App is installed on organizations
            return None if permission == "none" else replace(caller, permission=permission)
        named = caller.repositories is None or repository.repository in caller.repositories
        return caller if named and (caller.app or repository.owner == caller.owner) else None

    def membership(self, slug: str, login: str) -> str | None:
        """Return active or pending for somebody in a team, None for others."""
        teams = [team for team in self._settings.teams if team.slug == slug]
        states = {name: "pending" for team in teams for name in team.pending}
        return (states | {name: "active" for team in teams for name in team.members}).get(login)

    def account(self, login: str) -> Account:
        """Return the account with this login; the first mention makes it."""
        person = self.person(login)
        kind = "User" if person else "Bot" if login.endswith("[bot]") else "Organization"
        name = person.name if person else ""
        return self._store.first_or_add(Account, lambda fresh: Account(fresh, login, kind, name), login=login)

    def caller(self, request: Request) -> Caller | None:
        """Return who calls, None for nobody. Raise Refusal (401) for credentials that do not hold."""
        kind, _, value = request.headers.get("Authorization", "").partition(" ")
        kind, value = kind.lower(), value.strip()
        if not value:
            return None
        if kind == "basic":
            return self._by_token(_password(value))
        if kind == "bearer" and value.count(".") == 2:  # noqa: PLR2004 - a JWT has three parts
            return self._app(value)
        if kind in {"bearer", "token"}:
            return self._by_token(value)
        raise Refusal(401, "Bad credentials")

    def _app(self, token: str) -> Caller:
        try:
            claims = jwt.decode(
                token,
                self._public_key,
                algorithms=["RS256"],
                options={"require": ["exp", "iat", "iss"]},
                leeway=_CLOCK_DRIFT,
            )
        except jwt.InvalidTokenError:
            raise Refusal(401, "A JSON web token could not be decoded") from None
        return self._app_with(claims)

    def _app_with(self, claims: dict[str, Any]) -> Caller:
        if str(claims["iss"]) not in {str(self._settings.app_id), self._settings.client_id}:
            raise Refusal(404, "Integration not found")
        if claims["exp"] - time.time() > LONGEST_JWT + _CLOCK_DRIFT:
            raise Refusal(401, "'Expiration time' claim ('exp') is too far in the future")
        return Caller("app", f"{self._settings.app_slug}[bot]")

    def _by_token(self, token: str) -> Caller:
        for person in self._settings.people:
            if hmac.compare_digest(person.token.encode(), token.encode()):
                return Caller("person", person.login, permission=person.permission)
        for app in self._settings.other_apps:
            if hmac.compare_digest(app.token.encode(), token.encode()):
                return Caller("installation", f"{app.slug}[bot]", permissions=app.permissions, app=app.slug)
        known = self._store.first(Token, digest=_digest(token))
        if known is None or clock.is_past(known.expires_at):
            raise Refusal(401, "Bad credentials")
        if known.kind == "person":
            return self._signed_in(known)
        repositories = None if known.repositories is None else tuple(known.repositories)
        return Caller(
            "installation",
            f"{self._settings.app_slug}[bot]",
            known.holder,
            permissions=known.permissions,
            repositories=repositories,
        )

    def _signed_in(self, token: Token) -> Caller:
        person = self.person(token.holder)
        if person is None:
            raise Refusal(401, "Bad credentials")
        return Caller(
            "person",
            person.login,
            permission=person.permission,
            permissions=self._settings.permissions,
            through_app=True,
        )

    def give_installation_token(
        self, owner: str, permissions: dict[str, str], repositories: list[str] | None
    ) -> tuple[str, str]:
        """Return a fresh token of the App's installation on ``owner``, and when it expires."""
        return self._give(
            "ghs_",
            "installation",
            owner,
            self._settings.token_lifetime,
            permissions=permissions,
            repositories=repositories,
        )

    def give_person_token(self, login: str) -> str:
        """Return a fresh token with which an application acts for a person (8 hours)."""
        return self._give("ghu_", "person", login, 8 * 3600, permissions={}, repositories=None)[0]

    def _give(
        self,
        prefix: str,
        kind: str,
        holder: str,
        lifetime: float,
        *,
        permissions: dict[str, str],
        repositories: list[str] | None,
    ) -> tuple[str, str]:
        secret, expires_at = prefix + secrets.token_hex(18), clock.later(lifetime)
        self._store.add(
            lambda fresh: Token(fresh, "", _digest(secret), kind, holder, expires_at, permissions, repositories)
        )
        return secret, expires_at


def _password(encoded: str) -> str:
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode("utf-8").partition(":")
    except ValueError:
        raise Refusal(401, "Bad credentials") from None
    return password if password not in {"", "x-oauth-basic"} else user


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()

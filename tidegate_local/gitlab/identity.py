"""Authentication: by which token, with which scopes, and the access level."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from werkzeug.wrappers import Request

from tidegate_local.forge.store import Store
from tidegate_local.gitlab import clock
from tidegate_local.gitlab.records import AccessToken, Group, Member, User
from tidegate_local.gitlab.refusals import Refusal, unauthorized
from tidegate_local.gitlab.settings import DEVELOPER, NO_ACCESS, OWNER, Settings

ALL_SCOPES = ("api", "read_api", "read_user", "read_repository", "write_repository")


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody whose credentials hold until ``expires_at``."""

    user: User
    scopes: tuple[str, ...] = ALL_SCOPES
    expires_at: str | None = None


class Identities:
    """Turns credentials into callers, knows who is a member of what, and gives out tokens."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        for person in settings.people:
            self._user(person.username, person.name)
        self.bot = self._user(settings.bot, "Tidegate", bot=True)

    def _user(self, username: str, name: str, *, bot: bool = False) -> User:
        return self._store.first_or_add(User, lambda fresh: User(fresh, username, name, bot), username=username)

    def user(self, username: str) -> User | None:
        """Return a user by name, whatever the case."""
        return next((one for one in self.users() if one.username.lower() == username.lower()), None)

    def users(self) -> list[User]:
        """Return everybody."""
        return self._store.find(User)

    def named(self, username: str) -> User:
        """Return a user whom a record names."""
        found = self.user(username)
        if found is None:
            raise RuntimeError(f"unknown user {username}")
        return found

    def default_level(self, username: str, top: str) -> int:
        """Return somebody's access level in a top group where nobody set it."""
        if username == self._settings.bot:
            return self._settings.bot_level
        if self.user(top):
            return OWNER if username.lower() == top.lower() else NO_ACCESS
        return next((one.access_level for one in self._settings.people if one.username == username), NO_ACCESS)

    def direct(self, path: str) -> list[Member]:
        """Return the direct members of a group or project, those by default included."""
        found = {one.user: one for one in self._store.find(Member, path=path)}
        if "/" not in path:
            since = self._since(path)
            for user in self.users():
                level = self.default_level(user.username, path)
                found.setdefault(user.username, Member(0, path, user.username, level, since))
        return [one for one in found.values() if one.access_level > NO_ACCESS]

    def _since(self, path: str) -> str:
        group = self._store.first(Group, path=path)
        return group.created_at if group else clock.now()

    def members(self, path: str) -> list[Member]:
        """Return the members of a group or project and those it inherits, each once with the highest level."""
        best: dict[str, Member] = {}
        for part in _lineage(path):
            for one in self.direct(part):
                if one.user not in best or best[one.user].access_level < one.access_level:
                    best[one.user] = one
        return sorted(best.values(), key=lambda one: self.named(one.user).id)

    def level(self, username: str, path: str) -> int:
        """Return somebody's access level in a group or project: 0 for those who are no members."""
        return max((one.access_level for one in self.members(path) if one.user == username), default=NO_ACCESS)

    def set_level(self, path: str, username: str, level: int) -> Member:
        """Give somebody an access level in a group or project; 0 takes it away."""
        member = self._store.first_or_add(
            Member, lambda fresh: Member(fresh, path, username, level, clock.now()), path=path, user=username
        )
        fresh = Member(member.id, path, username, level, member.created_at)
        return self._store.change(Member, member.id, lambda _: fresh)

    def caller(self, request: Request) -> Caller | None:
        """Return who calls the API, None for nobody. Raise Refusal (401) for credentials that do not hold."""
        kind, _, value = request.headers.get("Authorization", "").partition(" ")
        bearer = value.strip() if kind.lower() == "bearer" else ""
        token = request.headers.get("PRIVATE-TOKEN") or request.args.get("private_token") or bearer
        return self.by_token(token) if token else None

    def git_caller(self, request: Request) -> Caller:
        """Return who calls with git: any name, and a token as the password. Raise Refusal (401)."""
        kind, _, value = request.headers.get("Authorization", "").partition(" ")
        try:
            password = base64.b64decode(value, validate=True).decode("utf-8").partition(":")[2]
            if kind.lower() == "basic" and password:
                return self.by_token(password)
        except (ValueError, Refusal):
            pass
        text = (
            "HTTP Basic: Access denied. If a password was provided for Git authentication, the password was incorrect."
        )
        raise Refusal(401, text, {"WWW-Authenticate": 'Basic realm="GitLab"'})

    def by_token(self, token: str) -> Caller:
        """Return whose token this is. Raise Refusal (401)."""
        known = {one.username: (one.username, ALL_SCOPES) for one in self._settings.people} | {
            self._settings.bot_token: (self._settings.bot, ("api",)),
            self._settings.clone_token: (self._settings.bot, ("read_repository",)),
        }
        for secret, (username, scopes) in known.items():
            if hmac.compare_digest(secret.encode(), token.encode()):
                return Caller(self.named(username), scopes)
        found = self._store.first(AccessToken, digest=_digest(token))
        if found is None:
            raise unauthorized()
        if found.expires_at and clock.is_past(found.expires_at):
            why = "Token is expired. You can either do re-authorization or token refresh."
            raise Refusal(401, {"error": "invalid_token", "error_description": why})
        return Caller(self.named(found.user), tuple(found.scopes), found.expires_at)

    def give(self, prefix: str, **fields: object) -> tuple[str, AccessToken]:
        """Return a fresh token and its record; ``fields`` are the record's."""
        secret = prefix + secrets.token_urlsafe(24)
        whole = {"digest": _digest(secret), "created_at": clock.now(), **fields}
        return secret, self._store.add(lambda fresh: AccessToken(fresh, **whole))  # type: ignore[arg-type]

    def joins(self, path: str) -> None:
        """Make the team subgroups' members of a new top group."""
        for team in self._settings.teams:
            for username in team.members:
                self.set_level(f"{path}/{team.path}", username, DEVELOPER)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _lineage(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]

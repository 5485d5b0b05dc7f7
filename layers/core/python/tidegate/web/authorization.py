"""Who may do what: one table of all routes, and the one function that every request goes through.

A route that has no entry is answered as one that does not exist. What somebody may not read is answered
as what does not exist.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Generic, TypeVar

from tidegate.domain.deployment import Deployment
from tidegate.domain.errors import ForgeRefused, NotFound
from tidegate.domain.job import job_parts
from tidegate.domain.permission import Permission
from tidegate.domain.root import repository_name
from tidegate.ports import Accounts, Catalog, Deliveries, Deployments, Forge
from tidegate.web.refusals import Hidden, MayNotWrite, NoOperator

Value = TypeVar("Value")

#: Seconds that an answer of the forge is used again for reading. Acting always asks anew.
REMEMBERED_SECONDS = 60.0
#: Answers that are kept at once.
REMEMBERED = 5000
REQUEST_EVENT = "manual"


class Right(Enum):
    """What a route demands."""

    PUBLIC = "nothing"
    SIGNED_IN = "an account of the forge"
    READ = "read permission on the repository"
    WRITE = "write permission on the repository"
    OPERATE = "membership in the operators' team"


class About(Enum):
    """What tells the repository that a request is about."""

    NOTHING = "none"
    REPOSITORY = "its name"
    DEPLOYMENT = "the deployment's id"
    JOB = "the job's id"
    REQUEST = "the id of a request for deployments"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a route demands, and for what."""

    right: Right
    about: About = About.NOTHING


_PUBLIC, _SIGNED_IN = Rule(Right.PUBLIC), Rule(Right.SIGNED_IN)

RULES: Mapping[str, Rule] = {
    "GET /api/openapi.json": _PUBLIC,
    "GET /api/me": _SIGNED_IN,
    "GET /api/repositories": _SIGNED_IN,
    "GET /api/repositories/<owner>/<name>/roots": Rule(Right.READ, About.REPOSITORY),
    "GET /api/queue": Rule(Right.READ, About.REPOSITORY),
    "POST /api/queue/unlock": Rule(Right.WRITE, About.REPOSITORY),
    "GET /api/deployments": Rule(Right.READ, About.REPOSITORY),
    "POST /api/deployments": Rule(Right.OPERATE, About.REPOSITORY),
    "GET /api/deployments/<id>": Rule(Right.READ, About.DEPLOYMENT),
    "POST /api/deployments/<id>/review": Rule(Right.WRITE, About.DEPLOYMENT),
    "GET /api/requests/<id>": Rule(Right.READ, About.REQUEST),
    "GET /api/jobs/<id>": Rule(Right.READ, About.JOB),
    "GET /api/jobs/<id>/log": Rule(Right.READ, About.JOB),
    "GET /": _SIGNED_IN,
    "GET /login": _PUBLIC,
    "GET /login/callback": _PUBLIC,
    "POST /logout": _SIGNED_IN,
    "GET /static/<file>": _PUBLIC,
    "GET /repositories/<owner>/<name>": Rule(Right.READ, About.REPOSITORY),
    "GET /repositories/<owner>/<name>/deployments": Rule(Right.READ, About.REPOSITORY),
    "GET /queue": Rule(Right.READ, About.REPOSITORY),
    "POST /queue/unlock": Rule(Right.WRITE, About.REPOSITORY),
    "GET /deployments/<id>": Rule(Right.READ, About.DEPLOYMENT),
    "POST /deployments/<id>/review": Rule(Right.WRITE, About.DEPLOYMENT),
    "GET /jobs/<id>": Rule(Right.READ, About.JOB),
    "GET /jobs/<id>/lines": Rule(Right.READ, About.JOB),
    "GET /jobs/<id>/raw": Rule(Right.READ, About.JOB),
}


@dataclass(frozen=True, slots=True)
class Access:
    """What a request may use: who asks, what they may do in the repository, and what the request is about."""

    login: str = ""
    permission: Permission = Permission.NONE
    repository: str = ""
    deployment: Deployment | None = None


class Remembered(Generic[Value]):
    """Answers of the forge, for a minute at most; the oldest goes when there are too many."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._known: OrderedDict[tuple[str, ...], tuple[float, Value]] = OrderedDict()

    def get(self, key: tuple[str, ...], ask: Callable[[], Value], *, anew: bool = False) -> Value:
        """Return the answer for ``key``, which ``ask`` gives. ``anew``: do not use an older one."""
        at, now = self._known.get(key), self._monotonic()
        if at is not None and now < at[0] and not anew:
            return at[1]
        value = ask()
        self._known.pop(key, None)
        self._known[key] = (now + REMEMBERED_SECONDS, value)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return value

    def forget(self, key: tuple[str, ...]) -> None:
        self._known.pop(key, None)

    def __len__(self) -> int:
        return len(self._known)


class Authorization:
    """Decides about requests."""

    def __init__(
        self,
        *,
        accounts: Accounts,
        forge: Forge,
        catalog: Catalog,
        deployments: Deployments,
        deliveries: Deliveries,
        operators_team: str,
        monotonic: Callable[[], float],
    ) -> None:
        self._accounts, self._forge, self._catalog = accounts, forge, catalog
        self._deployments, self._deliveries = deployments, deliveries
        self._team = operators_team
        self._logins: Remembered[str | None] = Remembered(monotonic)
        self._permissions: Remembered[Permission] = Remembered(monotonic)

    def login_of(self, token: str) -> str | None:
        """Return whose token this is; None for nobody's. Tokens are remembered by their digest only."""
        key = (sha256(token.encode(errors="replace")).hexdigest(),)
        login = self._logins.get(key, lambda: self._accounts.login_of(token))
        if login is None:
            self._logins.forget(key)
        return login

    def authorize(self, rule: Rule, login: str, given: Mapping[str, str]) -> Access:
        """Return what a request may use; ``given`` are its fields by name.

        Raise Hidden for what does not exist or may not be read, MayNotWrite and NoOperator for what
        may be read only, InvalidName, ForgeUnavailable.
        """
        if rule.about is About.NOTHING:
            return Access(login)
        repository, installation, deployment = self._subject(rule.about, given)
        acts = rule.right is not Right.READ
        permission = self.permission(login, repository, installation, anew=acts)
        if permission < Permission.READ:
            raise Hidden
        if rule.right is Right.WRITE and permission < Permission.WRITE:
            raise MayNotWrite(login, repository)
        if rule.right is Right.OPERATE and not self._operates(login, repository, installation):
            raise NoOperator(login, self._team)
        return Access(login, permission, repository, deployment)

    def permission(self, login: str, repository: str, installation: int, *, anew: bool = False) -> Permission:
        """Return what somebody may do in a repository, as the forge says; nothing where it refuses to say."""

        def ask() -> Permission:
            try:
                return self._forge.permission(installation, repository, login)
            except (ForgeRefused, NotFound):
                return Permission.NONE

        return self._permissions.get((login, repository), ask, anew=anew)

    def _operates(self, login: str, repository: str, installation: int) -> bool:
        organization, _, team = self._team.partition("/")
        if not team or organization.lower() != repository.partition("/")[0].lower():
            return False
        return self._forge.is_team_member(installation, organization, team, login)

    def _subject(self, about: About, given: Mapping[str, str]) -> tuple[str, int, Deployment | None]:
        try:
            if about is About.REPOSITORY:
                return self._repository(given.get("repository") or f"{given.get('owner')}/{given.get('name')}")
            if about is About.REQUEST:
                return self._request(given["id"])
            identifier = job_parts(given["id"])[0] if about is About.JOB else given["id"]
            deployment = self._deployments.get(identifier)
        except NotFound as error:
            raise Hidden from error
        return deployment.repository, deployment.installation, deployment

    def _repository(self, name: str) -> tuple[str, int, None]:
        known = self._catalog.repository(repository_name(name))
        return known.name, known.installation, None

    def _request(self, identifier: str) -> tuple[str, int, None]:
        delivery = self._deliveries.get(identifier)
        if delivery.event != REQUEST_EVENT:
            raise NotFound("request", identifier)
        return str(delivery.fields["repository"]), int(delivery.fields["installation"]), None

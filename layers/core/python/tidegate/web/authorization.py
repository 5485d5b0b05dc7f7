"""Authorization of every request, by the rule of its route.

What a person may not read looks like what does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from cachetools import TTLCache

from tidegate.clusters import operate
from tidegate.clusters.rules.audit import OperatedCluster
from tidegate.config_updates.authorize import check_operation
from tidegate.config_updates.rules.operations import Operated
from tidegate.deploys.authorize import Asking, check_action, check_unlock, person_asking
from tidegate.deploys.read_log import ReplayRun, Subject
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.job import JobKind, job_parts
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.gates.get_change import ChangeView, get_change
from tidegate.ports import (
    KnownRepository,
    Ports,
)
from tidegate.roots.rules.root import queue_id, repository_name, root_name
from tidegate.rules.access import Action
from tidegate.rules.decision import Decision
from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.rules.permission import Permission
from tidegate.web.nested import whole_owner
from tidegate.web.refusals import Hidden, NoOperator, NotAllowed, NotGranted
from tidegate.web.rules import About, Right, Rule

#: Seconds for which permissions are cached for reading. Actions always check again.
REMEMBERED_SECONDS = 60.0
#: Cached answers of one kind.
REMEMBERED = 5000
#: Seconds for which permissions are cached for lists of repositories: a repository's page checks sooner.
LISTED_SECONDS = 600.0
#: Repositories whose permission is checked for one person's lists, in a minute.
LISTED_ANEW = 60
#: Concurrent permission checks: GitHub allows 100 concurrent requests of an App in all.
_AT_ONCE = 8
#: Kinds of deliveries that are requests for deployments.
REQUEST_EVENTS = frozenset({"manual", "rerun"})


@dataclass(frozen=True, slots=True)
class Access:
    """A request's authorization: the person, their permission in the repository, and the request's subject."""

    login: str = ""
    permission: Permission = Permission.NONE
    repository: str = ""
    deployment: Deployment | None = None
    layer: SpeculativePlan | None = None
    replay: ReplayRun | None = None
    change: ChangeView | None = None

    @property
    def change_read(self) -> ChangeView:
        """The change that the request is about, as it was when it was authorized. Raise Hidden."""
        if self.change is None:
            raise Hidden
        return self.change

    @property
    def deployment_read(self) -> Deployment:
        """The deployment that the request is about, as it was when it was authorized. Raise Hidden."""
        if self.deployment is None:
            raise Hidden
        return self.deployment

    @property
    def job_subject(self) -> Subject:
        """What a job is run for. Raise Hidden."""
        subject = self.deployment or self.layer or self.replay
        if subject is None:
            raise Hidden
        return subject


def access_of(app: APIGatewayHttpResolver) -> Access:
    """Return the authorization of the current request, which the guard of all routes has stored."""
    access: Access = app.context["access"]
    return access


#: What somebody acts on: a deployment, environments, a cluster, or the queue of this id.
_ActedOn = Deployment | Operated | OperatedCluster | str
#: A login and a repository.
_Asked = tuple[str, str]
_Key = TypeVar("_Key")
_Answer = TypeVar("_Answer")


class Authorization:
    """Decides about requests."""

    def __init__(
        self,
        ports: Ports,
    ) -> None:
        self._ports, monotonic = ports, ports.monotonic

        def cache(seconds: float = REMEMBERED_SECONDS) -> TTLCache[Any, Any]:
            return TTLCache(REMEMBERED, seconds, monotonic)

        self._logins: TTLCache[str, str | None] = cache()
        self._permissions: TTLCache[_Asked, Permission] = cache()
        self._listed_permissions: TTLCache[_Asked, Permission] = cache(LISTED_SECONDS)
        self._refusals: TTLCache[tuple[str, str, str], bool] = cache()
        self._refused: TTLCache[_Asked, Asking] = cache()
        self._shown: TTLCache[_Asked, Asking] = cache()
        self._listed: TTLCache[str, int] = cache()
        self._operators: TTLCache[_Asked, bool] = cache()

    def login_of(self, token: str) -> str | None:
        """Return a token's owner; None if invalid. Tokens are cached by their digest only."""
        key = sha256(token.encode(errors="replace")).hexdigest()
        return _known_or(self._logins, key, lambda: self._ports.accounts.login_of(token))

    def authorize(self, rule: Rule, login: str, given: Mapping[str, str]) -> Access:
        """Return a request's authorization; ``given`` are its fields by name.

        Raise Hidden for what does not exist or may not be read, NotGranted and NoOperator for what may only be read,
        InvalidName, NoCluster, ForgeUnavailable.
        """
        if rule.about is About.NOTHING or (rule.about is About.ANY_REPOSITORY and not given.get("repository")):
            return Access(login)
        repository, subject = self._subject(rule.about, given)
        deployment = subject if isinstance(subject, Deployment) else None
        permission = self.permission(login, repository)
        right = rule.right_for(given)
        if permission >= Permission.READ and right is Right.OPERATE:
            permission = self._operating(login, repository)
        if permission >= Permission.READ and right is Right.WRITE:
            permission = self._writing(login, repository)
        if permission >= Permission.READ and rule.about is About.ENVIRONMENTS:
            operated = rule.operated(repository, given)
            permission = self._acting(operated.operation.action, login, repository, operated)
        if permission >= Permission.READ and rule.cluster is not None:
            cluster = OperatedCluster(repository, given["cluster"], rule.cluster)
            permission = self._acting(cluster.operation.action, login, repository, cluster)
        action = rule.done_by(given)
        if permission >= Permission.READ and action is not None:
            about = deployment or queue_id(repository, root_name(given.get("root", "")))
            permission = self._acting(action, login, repository, about)
        if permission < Permission.READ:
            raise Hidden
        layer = subject if isinstance(subject, SpeculativePlan) else None
        replay = subject if isinstance(subject, ReplayRun) else None
        change = subject if isinstance(subject, ChangeView) else None
        return Access(login, permission, repository, deployment, layer, replay, change)

    def shown(self, action: Action, login: str, repository: str, about: Deployment | OperatedCluster | str) -> Decision:
        """Decide whether to offer actions on a deployment, on a cluster, or on the queue of this id.

        Permissions are cached for a minute here; the action itself checks again.
        """
        permission = self.permission(login, repository)
        asking = _known_or(
            self._shown, (login, repository), lambda: person_asking(self._ports, repository, login, permission)
        )
        return self._judged(asking, action, about)

    def operator(self, login: str, repository: str) -> Decision:
        """Decide whether to offer operators' actions. Permissions are cached for a minute here."""
        known = _known_or(self._operators, (login, repository), lambda: self._operates(login, repository))
        return Decision(known, "" if known else str(NoOperator(login, self._ports.operators_team)))

    def _operating(self, login: str, repository: str) -> Permission:
        """Return what the forge says now. Raise NoOperator for who may read only."""

        def operates(_permission: Permission) -> bool:
            return self._operates(login, repository)

        return self._anew(login, repository, operates, NoOperator(login, self._ports.operators_team))

    def _writing(self, login: str, repository: str) -> Permission:
        """Return what the forge says now. Raise NotGranted for who may read only."""

        def writes(permission: Permission) -> bool:
            return permission >= Permission.WRITE

        refusal = NotGranted(f"{login} has no write permission on {repository}.")
        return self._anew(login, repository, writes, refusal)

    def _anew(self, login: str, repository: str, may: Callable[[Permission], bool], refusal: NotAllowed) -> Permission:
        """Return a person's current permission. Raise the refusal for a reader.

        A refusal is cached for a minute, so that nobody can use up the App's calls with forbidden requests.
        """
        key = (login, repository, type(refusal).__name__)
        if key not in self._refusals:
            permission = self.permission(login, repository, anew=True)
            if permission < Permission.READ or may(permission):
                return permission
            self._refusals[key] = True
        raise refusal

    def _acting(self, action: Action, login: str, repository: str, about: _ActedOn) -> Permission:
        """Return what the forge says now of somebody who is granted something. Raise NotGranted for others.

        Whom it was asked about for a refusal, it is not asked about for another one within a minute.
        """
        key = (login, repository)
        before = self._refused.get(key)
        if before is None or self._judged(before, action, about).done:
            permission = self.permission(login, repository, anew=True)
            before = person_asking(self._ports, repository, login, permission)
            if permission < Permission.READ or self._judged(before, action, about).done:
                return permission
            self._refused[key] = before
        raise NotGranted(self._judged(before, action, about).reason)

    def _judged(self, asking: Asking, action: Action, about: _ActedOn) -> Decision:
        if isinstance(about, Operated):
            return check_operation(self._ports, asking, about)
        if isinstance(about, OperatedCluster):
            return operate.check_operation(self._ports, asking, about.repository, about.name, about.operation)
        if isinstance(about, str):
            return check_unlock(self._ports, asking, about)
        return check_action(self._ports, asking, about, action)

    def listed(self, login: str, repositories: Sequence[KnownRepository]) -> list[Permission | None]:
        """Return a person's permission in each of these; None beyond the limit of checks in this minute.

        Answers are cached for ten minutes, so that lists cannot use up the App's calls.
        """
        known = [self._listed_permissions.get((login, one.name)) for one in repositories]
        missing = [one for one, permission in zip(repositories, known, strict=True) if permission is None]
        asked = self._listed.get(login, 0)
        anew = missing[: LISTED_ANEW - asked]
        if anew:
            self._listed[login] = asked + len(anew)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="permissions") as pool:
            answers = list(pool.map(lambda one: self._asked(login, one.name), anew))
        found = {one.name: self._keep((login, one.name), answer) for one, answer in zip(anew, answers, strict=True)}
        return [found.get(one.name, permission) for one, permission in zip(repositories, known, strict=True)]

    def permission(self, login: str, repository: str, *, anew: bool = False) -> Permission:
        """Return a person's permission in a repository; none if the VCS provider refuses to tell."""
        known = None if anew else self._permissions.get((login, repository))
        return self._keep((login, repository), self._asked(login, repository)) if known is None else known

    def _asked(self, login: str, repository: str) -> Permission:
        try:
            return self._ports.people.permission(repository, login)
        except (ForgeRefused, NotFound):
            return Permission.NONE

    def _keep(self, asked: _Asked, permission: Permission) -> Permission:
        self._permissions[asked] = self._listed_permissions[asked] = permission
        return permission

    def _operates(self, login: str, repository: str) -> bool:
        organization, _, team = self._ports.operators_team.partition("/")
        if not team or organization.lower() != repository.partition("/")[0].lower():
            return False
        return self._ports.people.is_team_member(repository, team, login)

    def _subject(self, about: About, given: Mapping[str, str]) -> tuple[str, Subject | ChangeView | None]:
        try:
            if about in {About.REPOSITORY, About.ANY_REPOSITORY, About.ENVIRONMENTS, About.CLUSTER}:
                return self._repository(_repository_of(given))
            if about is About.REQUEST:
                return self._request(given["id"])
            if about is About.CHANGE:
                change = get_change(self._ports, given["id"])
                return change.deployments[0].repository, change  # All of its deployments have the same.
            found = self._of_job(given["id"]) if about is About.JOB else self._ports.deployments.get(given["id"])
        except NotFound as error:
            raise Hidden from error
        return found.repository, found

    def _of_job(self, job: str) -> Subject:
        identifier, kind, _ = job_parts(job)
        if kind is JobKind.REPLAY:
            made = self._ports.jobs.get(job)
            current = self._ports.config_updates.head(made.repository).replaying
            return ReplayRun(identifier, made.repository, made.sha, is_over=current is None or current.job != job)
        return (
            self._ports.speculative_plans.get(identifier)
            if kind is JobKind.SPECULATE
            else self._ports.deployments.get(identifier)
        )

    def _repository(self, name: str) -> tuple[str, None]:
        known = self._ports.repository_index.repository(repository_name(name))
        return known.name, None

    def _request(self, identifier: str) -> tuple[str, None]:
        delivery = self._ports.deliveries.get(identifier)
        if delivery.event not in REQUEST_EVENTS:
            raise NotFound("request", identifier)
        return str(delivery.fields["repository"]), None


def _repository_of(given: Mapping[str, str]) -> str:
    """Return the repository that a request names: in its path, where that has one, whatever its query says."""
    if "owner" in given and "name" in given:
        return f"{whole_owner(given['owner'])}/{given['name']}"
    return given.get("repository", "")


def _known_or(cache: MutableMapping[_Key, _Answer], key: _Key, ask: Callable[[], _Answer]) -> _Answer:
    """Return the cached answer for a key, or else that of ``ask``. None is not cached."""
    known = cache.get(key)
    if known is None:
        known = cache[key] = ask()
    return known

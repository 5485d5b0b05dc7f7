"""Check whether a person may act on a root: by its access control and their permission at the VCS provider.

Each request asks the VCS provider again, with as few calls as possible.

All functions raise ForgeUnavailable and ForgeRefused. ``permission`` is the person's permission if the caller has just
read it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.ports import People, Ports
from tidegate.roots.rules.root import QUEUE_SEPARATOR
from tidegate.rules.access import Access, Action, Person, check_access, teams_among
from tidegate.rules.decision import Decision
from tidegate.rules.errors import AppLacksPermission
from tidegate.rules.permission import Permission
from tidegate.texts.sentences import listed

#: Placeholder in a message for the names of the things that it is about.
_THESE = "\0"
#: Names that one message lists at most.
_NAMED = 10


class Asking:
    """A person who requests something in a repository. Their permission is read from the VCS provider once."""

    def __init__(self, people: People, repository: str, login: str, permission: Permission | None = None) -> None:
        self._people, self._repository, self._login, self._known = people, repository, login, permission
        self._teams: dict[str, bool] = {}

    @property
    def permission(self) -> Permission:
        """The person's permission in the repository."""
        if self._known is None:
            self._known = self._people.permission(self._repository, self._login)
        return self._known

    def may(self, access: Access | None, action: Action, what: str) -> Decision:
        """Decide by access control whether the person may act on ``what``, such as "stack prod".

        Team memberships are read one at a time, only if the person has no access without a team, until one grants it.
        """
        person, repository = Person(self._login, self.permission), self._repository
        decision = check_access(access, action, person, repository, what)
        if decision.done or access is None or person.permission < Permission.READ:
            return decision
        for team in teams_among(access.who_may(action)):
            try:
                if self._is_member(team):
                    return check_access(access, action, replace(person, teams=frozenset({team})), repository, what)
            except AppLacksPermission as error:
                lacks = " and ".join(error.permissions)
                return Decision(
                    False,
                    f"Tidegate cannot read the members of team:{team}, because its App lacks "
                    f"{lacks}. Grant the App that permission.",
                )
        return decision

    def may_with(self, deployment: Deployment, action: Action) -> Decision:
        """Decide whether the person may do something with a deployment, by its access control."""
        return self.may(deployment.settings.access, action, subject(deployment))

    def applies(self, ruled: Deployment | str) -> Deployment | str:
        """Return the deployment if the person may apply it, otherwise one with the reason for the refusal. An earlier
        reason stays.
        """
        if isinstance(ruled, str):
            return ruled
        decision = self.may_with(ruled, Action.APPLY)
        return ruled if decision.done else decision.reason

    def _is_member(self, team: str) -> bool:
        if team not in self._teams:
            self._teams[team] = self._people.is_team_member(self._repository, team, self._login)
        return self._teams[team]


def person_asking(ports: Ports, repository: str, login: str, permission: Permission | None = None) -> Asking:
    """Return a person whose access to several things is to be checked."""
    return Asking(ports.people, repository, login, permission)


def may_act(
    ports: Ports, deployment: Deployment, action: Action, login: str, permission: Permission | None = None
) -> Decision:
    """Decide whether a person may act on a deployment. A refusal has a reason."""
    return check_action(ports, person_asking(ports, deployment.repository, login, permission), deployment, action)


def check_action(ports: Ports, asking: Asking, deployment: Deployment, action: Action) -> Decision:
    """Decide whether the requesting person may act on a deployment.

    For unlocking, the rule of the deployment that locked the queue applies, whichever deployment is requested.
    """
    if action is Action.UNLOCK:
        return check_unlock(ports, asking, deployment.queue)
    return asking.may_with(deployment, action)


def may_unlock(ports: Ports, queue: str, login: str, permission: Permission | None = None) -> Decision:
    """Decide whether a person may unlock a queue."""
    repository = queue.partition(QUEUE_SEPARATOR)[0]
    return check_unlock(ports, person_asking(ports, repository, login, permission), queue)


def check_unlock(ports: Ports, asking: Asking, queue: str) -> Decision:
    """Decide by the rule of the locking deployment whether the requesting person may unlock a queue.

    A lock by hand locks the queue in each stack of its root, so the rules of all stacks apply.
    """
    head, _ = ports.queues.read(queue)
    judged = [asking.may_with(each, Action.UNLOCK) for each in _locking(ports, head)]
    judged = judged or [asking.may(None, Action.UNLOCK, f"root {head.root_name}")]
    return next((each for each in judged if not each.done), judged[0])


def access_refusals(
    ports: Ports,
    accesses: Mapping[str, Access | None],
    repository: str,
    action: Action,
    login: str,
    permission: Permission | None = None,
) -> tuple[str, ...]:
    """Return why a person may not act on several things, by name: one sentence for each reason."""
    return refusals_of(person_asking(ports, repository, login, permission), accesses, action)


def refusals_of(asking: Asking, accesses: Mapping[str, Access | None], action: Action) -> tuple[str, ...]:
    """Return why the requesting person may not act on several things, by name: one sentence for each reason."""
    found: dict[str, list[str]] = {}
    for what, access in accesses.items():
        decision = asking.may(access, action, _THESE)
        if not decision.done:
            found.setdefault(decision.reason, []).append(what)
    return tuple(reason.replace(_THESE, listed(names, _NAMED)) for reason, names in found.items())


def reviewed_unless_granted(ports: Ports, deployment: Deployment, login: str) -> Deployment:
    """Return a merge's deployment; its plan waits for review if the person who merged may not deploy the root.

    Otherwise a merge would bypass access control where plans are not reviewed.
    """
    if deployment.settings.access is None or deployment.settings.review_rule.when is PlanReview.ALWAYS:
        return deployment
    if may_act(ports, deployment, Action.APPLY, login).done:
        return deployment
    return replace(
        deployment,
        settings=replace(
            deployment.settings, review_rule=replace(deployment.settings.review_rule, when=PlanReview.ALWAYS)
        ),
    )


def _locking(ports: Ports, head: QueueHead) -> Collection[Deployment]:
    """Return the deployment that locks the queue, or else the last admitted one, in each stack."""
    if head.lock and head.lock.deployment:
        return ports.deployments.many([head.lock.deployment]).values()
    last = (head.attempted, *(each.attempted for each in head.by_stack))
    return ports.deployments.many({each.deployment for each in last if each}).values()


def subject(deployment: Deployment) -> str:
    """Return what access rules name: the stack if it has rules of its own, otherwise the root."""
    return f"root {deployment.root.name}" if deployment.stack == DEFAULT_STACK else f"stack {deployment.stack}"

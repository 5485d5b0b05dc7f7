"""Ask whether a person may do something with a root: by its access control, and by what the forge says of people.

The forge is asked anew for every demand, and as little as possible.

Every method raises ForgeUnavailable, and ForgeRefused. ``permission`` is what the forge said of the person just now,
for callers who know.
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

#: Stands in a sentence for the names of things that it is about.
_THESE = "\0"
#: Things that one sentence names.
_NAMED = 10


class Asking:
    """One person who asks for something in a repository. What the forge says of them is asked for once."""

    def __init__(self, people: People, repository: str, login: str, permission: Permission | None = None) -> None:
        self._people, self._repository, self._login, self._known = people, repository, login, permission
        self._teams: dict[str, bool] = {}

    @property
    def permission(self) -> Permission:
        """What the person may do in the repository."""
        if self._known is None:
            self._known = self._people.permission(self._repository, self._login)
        return self._known

    def may(self, access: Access | None, action: Action, what: str) -> Decision:
        """Decide whether the person may do something with ``what``, such as "stack prod", by its access control.

        They are judged without any team first, and then with one after the other, until one is granted it.
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
        """Return a deployment if the person may have it applied, or else why not. A reason given before stays."""
        if isinstance(ruled, str):
            return ruled
        decision = self.may_with(ruled, Action.APPLY)
        return ruled if decision.done else decision.reason

    def _is_member(self, team: str) -> bool:
        if team not in self._teams:
            self._teams[team] = self._people.is_team_member(self._repository, team, self._login)
        return self._teams[team]


def person_asking(ports: Ports, repository: str, login: str, permission: Permission | None = None) -> Asking:
    """Return a person to be judged about several things at once."""
    return Asking(ports.people, repository, login, permission)


def may_act(
    ports: Ports, deployment: Deployment, action: Action, login: str, permission: Permission | None = None
) -> Decision:
    """Decide whether a person may do something with a deployment; a reason comes with every no."""
    return check_action(ports, person_asking(ports, deployment.repository, login, permission), deployment, action)


def check_action(ports: Ports, asking: Asking, deployment: Deployment, action: Action) -> Decision:
    """Decide whether who asks may do something with a deployment.

    A queue is unlocked by the rule of the deployment that locked it, whichever is looked at.
    """
    if action is Action.UNLOCK:
        return check_unlock(ports, asking, deployment.queue)
    return asking.may_with(deployment, action)


def may_unlock(ports: Ports, queue: str, login: str, permission: Permission | None = None) -> Decision:
    """Decide whether a person may unlock a queue."""
    repository = queue.partition(QUEUE_SEPARATOR)[0]
    return check_unlock(ports, person_asking(ports, repository, login, permission), queue)


def check_unlock(ports: Ports, asking: Asking, queue: str) -> Decision:
    """Decide whether who asks may unlock a queue: by the rule of the deployment that locked it.

    Locked by hand, it is locked for each stack of its root: by the rules of all.
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
    """Return why somebody may not do something with several things, by their names: a sentence for each reason."""
    asking = person_asking(ports, repository, login, permission)
    found: dict[str, list[str]] = {}
    for what, access in accesses.items():
        decision = asking.may(access, action, _THESE)
        if not decision.done:
            found.setdefault(decision.reason, []).append(what)
    return tuple(reason.replace(_THESE, listed(names, _NAMED)) for reason, names in found.items())


def reviewed_unless_granted(ports: Ports, deployment: Deployment, login: str) -> Deployment:
    """Return a deployment that a merge asked for: its plan waits for people if who merged may not deploy it.

    Otherwise merging would be a way around its access control where plans are not reviewed.
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
    """Return what locked the queue, or else (not locked, or by hand) what was admitted last, in each stack."""
    if head.lock and head.lock.deployment:
        return ports.deployments.many([head.lock.deployment]).values()
    last = (head.attempted, *(each.attempted for each in head.by_stack))
    return ports.deployments.many({each.deployment for each in last if each}).values()


def subject(deployment: Deployment) -> str:
    """Return what rules are for, in words: its stack if it has one of its own, or else the root."""
    return f"root {deployment.root.name}" if deployment.stack == DEFAULT_STACK else f"stack {deployment.stack}"

"""Ask whether a person may do something with a root: by its access control, and by what the forge says of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from tidegate.domain.access import Access, Action, Person, judge_access, teams_among
from tidegate.domain.decision import Decision
from tidegate.domain.deployment import Deployment
from tidegate.domain.errors import AppLacksPermission, NotFound
from tidegate.domain.permission import Permission
from tidegate.domain.queue import QueueHead
from tidegate.domain.review_rule import PlanReview
from tidegate.domain.stack import DEFAULT_STACK
from tidegate.ports import Deployments, DeployQueues, Forge

#: An installation of the App and a repository (``owner/name``).
Where = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Authorizer:
    """Judges people. The forge is asked as little as possible, and anew every time.

    Every method raises ForgeUnavailable, and ForgeRefused. ``permission`` is what the forge said of the person just
    now, for callers who know.
    """

    forge: Forge
    queues: DeployQueues
    deployments: Deployments

    def may(self, deployment: Deployment, action: Action, login: str, permission: Permission | None = None) -> Decision:
        """Decide whether a person may do something with a deployment; a reason comes with every no.

        A queue is unlocked by the rule of the deployment that locked it, whichever is looked at.
        """
        if action is Action.UNLOCK:
            return self.may_unlock(deployment.queue, deployment.installation, login, permission)
        return self._judge(deployment, action, login, permission)

    def may_unlock(self, queue: str, installation: int, login: str, permission: Permission | None = None) -> Decision:
        """Decide whether a person may unlock a queue: by the rule of the deployment that locked it."""
        head, _ = self.queues.read(queue)
        locking = self._locking(head)
        if locking is not None:
            return self._judge(locking, Action.UNLOCK, login, permission)
        where = installation, head.home
        return self.may_with(None, where, Action.UNLOCK, login, f"root {head.root_name}", permission)

    def may_with(  # noqa: PLR0917
        self,
        access: Access | None,
        where: Where,
        action: Action,
        login: str,
        what: str,
        permission: Permission | None = None,
    ) -> Decision:
        """Decide by a rule that is not on any deployment yet; ``what`` is named in the reason, such as "stack prod"."""
        refusals = self.refusals({what: access}, where, action, login, permission)
        return Decision(not refusals, "".join(refusals))

    def refusals(
        self,
        accesses: Mapping[str, Access | None],
        where: Where,
        action: Action,
        login: str,
        permission: Permission | None = None,
    ) -> tuple[str, ...]:
        """Return why somebody may not do something with several things, by their names: a sentence for each."""
        person = Person(login, self.forge.permission(*where, login) if permission is None else permission)
        is_member = cache(lambda team: self.forge.is_team_member(where[0], where[1].partition("/")[0], team, login))
        judged = (_judged(access, action, person, where[1], what, is_member) for what, access in accesses.items())
        return tuple(decision.reason for decision in judged if not decision.done)

    def reviewed_unless_granted(self, deployment: Deployment, login: str) -> Deployment:
        """Return a deployment that a merge asked for: its plan waits for people if who merged may not deploy it.

        Otherwise merging would be a way around its access control where plans are not reviewed.
        """
        if deployment.access is None or deployment.review_rule.when is PlanReview.ALWAYS:
            return deployment
        if self._judge(deployment, Action.APPLY, login, None).done:
            return deployment
        return replace(deployment, review_rule=replace(deployment.review_rule, when=PlanReview.ALWAYS))

    def _judge(self, deployment: Deployment, action: Action, login: str, permission: Permission | None) -> Decision:
        where = deployment.installation, deployment.repository
        return self.may_with(deployment.access, where, action, login, subject(deployment), permission)

    def _locking(self, head: QueueHead) -> Deployment | None:
        """Return what locked the queue, or else what was let in last."""
        last = head.lock.deployment if head.lock else head.attempted.deployment if head.attempted else ""
        try:
            return self.deployments.get(last) if last else None
        except NotFound:
            return None


def _judged(  # noqa: PLR0917
    access: Access | None,
    action: Action,
    person: Person,
    repository: str,
    what: str,
    is_member: Callable[[str], bool],
) -> Decision:
    """Judge a person without any team first, and then with one team after the other, until one is granted it."""
    decision = judge_access(access, action, person, repository, what)
    if decision.done or access is None or person.permission < Permission.READ:
        return decision
    for team in teams_among(access.who_may(action)):
        try:
            if is_member(team):
                return judge_access(access, action, replace(person, teams=frozenset({team})), repository, what)
        except AppLacksPermission as error:
            lacks = " and ".join(error.permissions)
            return Decision(False, f"Who is in team:{team} is not known, as the App lacks {lacks}: grant it that.")
    return decision


def subject(deployment: Deployment) -> str:
    """Return what rules are for, in words: its stack if it has one of its own, or else the root."""
    return f"root {deployment.root.name}" if deployment.stack == DEFAULT_STACK else f"stack {deployment.stack}"

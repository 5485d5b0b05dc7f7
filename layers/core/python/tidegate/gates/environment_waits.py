"""Read whether environments of config repositories are ready for a stack whose gate waits for them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from tidegate.changes.rules.waits import AwaitedEnvironment
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, Dependency, Point, point_of
from tidegate.deploys.rules.state import State
from tidegate.ports import Ports


class EnvironmentWaits:
    """Reads each environment once, however many deployments wait for it."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._known: dict[AwaitedEnvironment, Callable[[datetime], str]] = {}

    def by(self, deployment: Deployment) -> tuple[Dependency, ...]:
        """Return the environments that a deployment waits for at its gate before the apply, as dependencies."""
        awaited = deployment.change.waits.environments
        if not awaited or point_of(deployment) is not Point.APPLY:
            return ()
        since = deployment.gate.since if deployment.gate else self._ports.clock.now()
        return tuple(self._dependency(each, since) for each in awaited)

    def _dependency(self, awaited: AwaitedEnvironment, since: datetime) -> Dependency:
        if awaited.repository not in self._ports.update_repositories:
            why = "The installation does not list that repository: an operator can add it to update_repositories."
        else:
            if awaited not in self._known:
                self._known[awaited] = self._read(awaited)
            why = self._known[awaited](since)
        return Dependency(str(awaited), "", State.QUEUED if why else State.APPLIED, why=why)

    def _read(self, awaited: AwaitedEnvironment) -> Callable[[datetime], str]:
        """Return what tells why an environment is waited for since a time: its state, and its entries, are read."""
        store = self._ports.config_updates
        state = store.environment(awaited.repository, *awaited.environment_key)
        landed = (each.entry for each in state.landed if each.entry)
        entries = store.entries(awaited.repository, [*store.head(awaited.repository).open, *landed])
        return partial(state.wait_since, entries)


def wake_gates(ports: Ports, repository: str) -> int:
    """Request that gates be checked at which deployments wait for environments of a repository. Return how many.

    The reconciler checks them too, if the request is lost.
    """
    if repository not in ports.update_repositories:
        return 0
    open_ = ports.deployments.many(sorted(ports.deployments.unshown())).values()
    changes = {
        each.change.id
        for each in open_
        if each.state in WAITING and repository in {one.repository for one in each.change.waits.environments}
    }
    for change in sorted(changes):
        ports.event_publisher.change_moved(change)
    return len(changes)

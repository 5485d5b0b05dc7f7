"""Read the dependencies of a deployment at its gate."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import Dependency, dependency, is_shut, lost, soaking, waits_for
from tidegate.gates.environment_waits import EnvironmentWaits
from tidegate.ports import Ports


def dependencies(ports: Ports, deployment: Deployment) -> Sequence[Dependency]:
    """Return all dependencies of the deployment at its current gate, as they are now."""
    members = ports.change_sets.deployments(deployment.change.id) if deployment.change.id else ()
    awaited = [each for each in members if waits_for(deployment, each.root, each.stack)]
    records = ports.deployments.many([each.deployment for each in awaited])
    found = [dependency(each.root, each.stack, records.get(each.deployment)) for each in awaited]
    gone = lost(deployment, {(each.root, each.stack) for each in members})
    soaks = soaking(deployment, found, ports.clock.now())
    return [*found, *gone, *soaks, *EnvironmentWaits(ports).by(deployment)]


def is_blocked(ports: Ports, deployment: Deployment) -> bool:
    """Tell whether an approved deployment must wait at its gate again; for most this reads nothing."""
    if not deployment.change.waits.any:
        return False
    return is_shut(deployment, dependencies(ports, deployment))

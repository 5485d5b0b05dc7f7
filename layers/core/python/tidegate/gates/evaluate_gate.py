"""Read what a deployment waits for at its gate."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import Dependency, dependency, is_shut, lost, waits_for
from tidegate.ports import Ports


def dependencies(ports: Ports, deployment: Deployment) -> Sequence[Dependency]:
    """Return all that the deployment waits for at the gate that it is at, as it is now."""
    members = ports.change_sets.deployments(deployment.change.id) if deployment.change.id else ()
    awaited = [each for each in members if waits_for(deployment, each.root, each.stack)]
    records = ports.deployments.many([each.deployment for each in awaited])
    found = [dependency(each.root, each.stack, records.get(each.deployment)) for each in awaited]
    return [*found, *lost(deployment, {(each.root, each.stack) for each in members})]


def is_blocked(ports: Ports, deployment: Deployment) -> bool:
    """Tell whether a deployment that is about to be applied must wait once more; nothing is read for most."""
    if not deployment.change.waits.any:
        return False
    return is_shut(deployment, dependencies(ports, deployment))

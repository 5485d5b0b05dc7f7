"""Update check runs that list a deployment as a dependency after it changed its state.

For a longer list, the deployment's own record changes each time the list's length has halved. So a check run is updated
a few times for each of its ten lines at most, however large the change.
"""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, dependency, waits_for
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.texts.dependencies import is_listed_whole
from tidegate.ports import Ports

#: Members of a change that are read: in a larger one, nobody follows a list of ten line by line.
_MOST = 1000
#: States that a dependency keeps for long, or that need a person.
_TOLD = frozenset({State.AWAITING_REVIEW, State.AWAITING_REQUIREMENTS, State.APPLYING})


def notify_waiting(ports: Ports, deployment: Deployment) -> None:
    """Request updates of the check runs that now show ``deployment`` differently. A repeated call is harmless."""
    if not deployment.change.id or not (deployment.state in _TOLD or is_final(deployment.state)):
        return
    members = ports.change_sets.deployments(deployment.change.id)
    if len(members) > _MOST:
        return
    records = ports.deployments.many([each.deployment for each in members])
    for waiting in [each for each in records.values() if each.state in WAITING]:
        if not waits_for(waiting, deployment.root.name, deployment.stack):
            continue
        awaited = [each for each in members if waits_for(waiting, each.root, each.stack)]
        if is_listed_whole([dependency(each.root, each.stack, records.get(each.deployment)) for each in awaited]):
            ports.event_publisher.position_changed(waiting.id)

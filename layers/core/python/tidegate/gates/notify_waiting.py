"""Have check runs say anew what their deployments wait for, when one of these moved on.

A longer list is drawn anew when its length has halved, as the deployment's own record changes then. So a check run is
drawn a few times for each of its ten lines at most, however large the change.
"""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, dependency, waits_for
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.texts.dependencies import is_listed_whole
from tidegate.ports import Ports

#: Members of a change that are looked at: in a larger one, nobody reads a list of ten line by line.
_MOST = 1000
#: What a line of the list tells for long, or tells people to do.
_TOLD = frozenset({State.AWAITING_REVIEW, State.AWAITING_REQUIREMENTS, State.APPLYING})


def notify_waiting(ports: Ports, deployment: Deployment) -> None:
    """Ask for those that are to say something else of ``deployment`` now. More than once is harmless."""
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

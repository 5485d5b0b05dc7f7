"""Request updates of check runs that do not show the newest state: their message was lost or given up."""

from __future__ import annotations

import math

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.state import is_final
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import RUNS_EVERY, ReconcilerPass
from tidegate.rules.errors import NotFound

#: Seconds after which a check run counts as stuck.
STUCK_AFTER = 60
_AT_MOST = 500


def show_check_runs(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(sorted(ports.deployments.unshown()), lambda each: _show(ports, each, turn), _AT_MOST)


def _show(ports: Ports, deployment_id: str, turn: ReconcilerPass) -> bool:
    try:
        deployment = ports.deployments.get(deployment_id)
    except NotFound:
        return False
    published = ports.check_runs.published(deployment.id)
    if published is not None and published.shown_version >= deployment.version:
        if is_final(deployment.state):
            ports.deployments.shown(deployment.id)
        return False
    if not is_due(_age(deployment, turn)):
        return False
    ports.event_publisher.refresh(deployment.id)
    return True


def is_due(age: float) -> bool:
    """Tell whether a run requests an update of a check run that has been outdated for ``age`` seconds.

    It does in the first minutes and then each time the age has doubled: a VCS provider that is down for hours must not
    cause a flood of messages.
    """
    if age < STUCK_AFTER:
        return False
    before = max(age - RUNS_EVERY, STUCK_AFTER / 2)
    return math.floor(math.log2(age / STUCK_AFTER)) > math.floor(math.log2(before / STUCK_AFTER))


def _age(deployment: Deployment, turn: ReconcilerPass) -> float:
    changed = deployment.changed_at or deployment.request.at
    return (turn.clock.now() - changed).total_seconds()

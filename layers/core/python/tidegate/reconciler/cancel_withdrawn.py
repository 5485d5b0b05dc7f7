"""End cancelled or withdrawn deployments that have not ended."""

from __future__ import annotations

from functools import partial

from tidegate.deploys.cancel_deployment import go_on_cancelling
from tidegate.ports import Ports
from tidegate.pull_requests.cancel_applies import go_on_withdrawing
from tidegate.reconciler.reconciler_pass import ReconcilerPass

_AT_MOST = 500


def cancel_withdrawn(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(sorted(ports.deployments.unshown()), partial(_go_on, ports), _AT_MOST)


def _go_on(ports: Ports, deployment: str) -> bool:
    return go_on_cancelling(ports, deployment) or go_on_withdrawing(ports, deployment)

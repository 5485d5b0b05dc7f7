"""Check waiting deployments' requirements again: the event about a change may be lost.

A repeated call is harmless.
"""

from __future__ import annotations

from functools import partial

from tidegate.deploys.rules.state import State
from tidegate.gates.wait_for_requirements import check_requirements
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass

#: Each needs some calls to the VCS provider: checks, teams and pull requests of commits send no events here.
_AT_MOST = 50


def recheck_requirements(ports: Ports, turn: ReconcilerPass) -> int:
    open_ = ports.deployments.many(sorted(ports.deployments.unshown())).values()
    waiting = [each.id for each in open_ if each.state is State.AWAITING_REQUIREMENTS]
    return turn.each(waiting, partial(check_requirements, ports), _AT_MOST)

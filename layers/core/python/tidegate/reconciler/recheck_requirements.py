"""Look again at what deployments wait for that their roots require: the event that tells of it may have been lost.

Again is harmless.
"""

from __future__ import annotations

from functools import partial

from tidegate.deploys.rules.state import State
from tidegate.gates.wait_for_requirements import check_requirements
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass

#: Each is some calls to the forge: checks, teams and pull requests of commits tell of nothing by themselves.
_AT_MOST = 50


def recheck_requirements(ports: Ports, turn: ReconcilerPass) -> int:
    open_ = ports.deployments.many(sorted(ports.deployments.unshown())).values()
    waiting = [each.id for each in open_ if each.state is State.AWAITING_REQUIREMENTS]
    return turn.each(waiting, partial(check_requirements, ports), _AT_MOST)

"""Evaluate gates with waiting deployments again: the request was lost, or the evaluation died half-way.

A repeated call is harmless.

In a deadlock over several queues, this first marks the deployment that must give up, or clears the mark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.wait_cycles import cycles
from tidegate.gates.open_gates import open_gates
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.decide_again import deciding_again

_AT_MOST = 500
#: Records that one read brings.
_READ = 100


def settle_gates(ports: Ports, turn: ReconcilerPass) -> int:
    known = _open(ports)
    _tell_cycles(ports, turn, known)
    waiting = defaultdict(list)
    for each in known:
        if each.state in WAITING:
            waiting[each.change.id].append(each.id)
    return turn.each(sorted(waiting), lambda change: open_gates(ports, change, waiting[change]) > 0, _AT_MOST)


def _tell_cycles(ports: Ports, turn: ReconcilerPass, known: Sequence[Deployment]) -> None:
    found = cycles(known)
    told = {each.id for each in known if each.gate is not None and each.gate.cycle}

    def tell(identifier: str) -> bool:
        return deciding_again(lambda: _tell(ports, identifier, found.get(identifier, "")))

    turn.each(sorted(found.keys() | told), tell, _AT_MOST)


def _tell(ports: Ports, identifier: str, cycle: str) -> bool:
    """Write to the record why it must give up, if it still waits. Evaluating its gate does the rest."""
    deployment = ports.deployments.get(identifier)
    gate = deployment.gate
    if deployment.state not in WAITING or gate is None or gate.next is not None or gate.cycle == cycle:
        return False
    ports.deployments.save(replace(deployment, gate=replace(gate, cycle=cycle)))
    return True


def _open(ports: Ports) -> list[Deployment]:
    """Return the deployments that have not ended, or whose end is not published yet."""
    unshown = sorted(ports.deployments.unshown())
    parts = [unshown[start : start + _READ] for start in range(0, len(unshown), _READ)]
    return [record for part in parts for record in ports.deployments.many(part).values()]

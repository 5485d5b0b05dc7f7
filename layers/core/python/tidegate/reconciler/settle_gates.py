"""Look again at gates at which somebody waits: what asked for it was lost, or who looked died half-way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.wait_cycles import cycles
from tidegate.ports import Deployments
from tidegate.reconciler.turn import Turn
from tidegate.rules.decide_again import deciding_again

_AT_MOST = 500
#: Records that one read brings.
_READ = 100


@dataclass(frozen=True, slots=True)
class SettleGates:
    """Looks at the gates of every change of which a deployment waits, by ``open_gates``; again is harmless.

    ``open_gates`` gets the change and all of its deployments that wait: the change itself only knows the newest of each
    root.

    Where deployments wait for each other over several queues, one is told to give up before, or not to any more.
    """

    deployments: Deployments
    open_gates: Callable[[str, Collection[str]], int]

    def repair(self, turn: Turn) -> int:
        known = self._open()
        self._tell_cycles(turn, known)
        waiting = defaultdict(list)
        for each in known:
            if each.state in WAITING:
                waiting[each.change_set].append(each.id)
        return turn.each(sorted(waiting), lambda change: self.open_gates(change, waiting[change]) > 0, _AT_MOST)

    def _tell_cycles(self, turn: Turn, known: Sequence[Deployment]) -> None:
        found = cycles(known)
        told = {each.id for each in known if each.gate is not None and each.gate.cycle}

        def tell(identifier: str) -> bool:
            return deciding_again(lambda: self._tell(identifier, found.get(identifier, "")))

        turn.each(sorted(found.keys() | told), tell, _AT_MOST)

    def _tell(self, identifier: str, cycle: str) -> bool:
        """Write to the record why it must give up, if it still waits. The look at its gate does what follows."""
        deployment = self.deployments.get(identifier)
        gate = deployment.gate
        if deployment.state not in WAITING or gate is None or gate.next is not None or gate.cycle == cycle:
            return False
        self.deployments.save(replace(deployment, gate=replace(gate, cycle=cycle)))
        return True

    def _open(self) -> list[Deployment]:
        """Return the deployments that have not ended, or whose end is not shown yet."""
        unshown = sorted(self.deployments.unshown())
        parts = [unshown[start : start + _READ] for start in range(0, len(unshown), _READ)]
        return [record for part in parts for record in self.deployments.many(part).values()]

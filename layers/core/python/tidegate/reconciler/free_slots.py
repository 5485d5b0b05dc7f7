"""Release the concurrency slots of ended jobs, and hand free slots to waiting ones.

The slots are read before their holders, and one is released only if nobody took any since: so a job that begins
meanwhile keeps its own. If executions are gone, other functions end their deployments first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.plan_slots import SlotUsage, in_order
from tidegate.deploys.rules.slots import INSTALLATION, needs_slot
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.rules.state import State
from tidegate.deploys.slots.assign_plan_slots import assign_free_plan_slots, wake_holder
from tidegate.deploys.slots.keep_slots import task_left
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import Conflict

#: Holders that one run releases at most.
_AT_MOST = 500
#: Records that one read brings.
_READ = 100
#: Check runs whose position one run updates: the VCS provider limits writes.
SHOWN = 40


def free_slots(ports: Ports, turn: ReconcilerPass) -> int:
    places = ports.plan_slots.read(INSTALLATION)
    if places.is_quiet:
        ports.plan_slots.rest(INSTALLATION)
        return 0
    known = _Holders(ports, places)
    freed = turn.each(sorted(known.unneeded()), partial(_free, ports), _AT_MOST)
    woken = sum(wake_holder(ports, INSTALLATION, each) for each in sorted(known.asleep()))
    handed_on = assign_free_plan_slots(ports, ports.plan_slots.read(INSTALLATION))
    for each in known.waiting()[:SHOWN]:
        ports.event_publisher.position_changed(each)
    return freed + woken + handed_on


def _free(ports: Ports, holder: str) -> bool:
    places = ports.plan_slots.read(INSTALLATION)
    if holder not in _Holders(ports, places, (holder,)).unneeded():
        return False
    try:
        ports.plan_slots.free(places, holder)
    except Conflict:  # The next run tries again.
        return False
    return True


def needs_slot_still(ports: Ports, deployment: Deployment) -> bool:
    """Tell whether a deployment is in flight, and may have a slot."""
    if deployment.state is State.QUEUED:
        return ports.queues.read(deployment.queue)[0].in_flight == deployment.id
    return needs_slot(deployment) or _runs(ports, task_left(deployment, ports.jobs))


def _runs(ports: Ports, task: str) -> bool:
    """Tell whether a task runs: the event of its stop may be lost."""
    return bool(task) and any(each.arn == task for each in ports.runners.running())


def has_slot(ports: Ports, layer: SpeculativePlan) -> bool:
    """Tell whether a layer has its repository's slot, which is taken and released first."""
    return layer.id in ports.plan_slots.read(layer.repository).held


class _Holders:
    """Slot holders and waiting ones, or some of them."""

    def __init__(self, ports: Ports, places: SlotUsage, only: tuple[str, ...] = ()) -> None:
        self._ports, self._places = ports, places
        self._ids = [each for each in (*places.held, *places.line) if not only or each in only]
        self._deployments: Mapping[str, Deployment] = dict(self._read_deployments())
        left = [each for each in self._ids if each not in self._deployments]
        self._layers = {each.id: each for each in ports.speculative_plans.many(left)}

    def unneeded(self) -> set[str]:
        """Return those without a running or starting job. A waiting layer leaves the line once it has ended."""
        return {each for each in self._ids if not self._needs(each)}

    def asleep(self) -> set[str]:
        """Return those that have a slot and may still wait: the handover may have died half-way."""
        marked = {each.id for each in self._deployments.values() if each.slot_since}
        waiting = {each.id for each in self._layers.values() if each.state is LayerState.WAITING}
        return (marked | waiting) & set(self._places.held)

    def waiting(self) -> list[str]:
        """Return the deployments that wait, in order."""
        return [each for each in in_order(self._places) if each in self._deployments]

    def _needs(self, holder: str) -> bool:
        if holder in self._deployments:
            return needs_slot_still(self._ports, self._deployments[holder])
        layer = self._layers.get(holder)
        if layer is None or layer.is_done:
            return False
        return holder in self._places.line or has_slot(self._ports, layer)

    def _read_deployments(self) -> Iterator[tuple[str, Deployment]]:
        for start in range(0, len(self._ids), _READ):
            yield from self._ports.deployments.many(self._ids[start : start + _READ]).items()

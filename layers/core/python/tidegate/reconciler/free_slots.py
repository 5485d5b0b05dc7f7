"""Free the concurrency slots of jobs that are over, and see that nobody waits while there is room.

The slots are read before what has them, and one is freed only while nobody took any since: so a job that begins
meanwhile keeps its own. Deployments end by other repairs first, if their executions are gone.
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

#: Holders that one run frees at most.
_AT_MOST = 500
#: Records that one read brings.
_READ = 100
#: Check runs whose position is brought up to date in one run: the forge lets few be written.
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
    except Conflict:  # The next run looks again.
        return False
    return True


def needs_slot_still(ports: Ports, deployment: Deployment) -> bool:
    """Tell whether a deployment is in flight, and may have a slot."""
    if deployment.state is State.QUEUED:
        return ports.queues.read(deployment.queue)[0].in_flight == deployment.id
    return needs_slot(deployment) or _runs(ports, task_left(deployment, ports.jobs))


def _runs(ports: Ports, task: str) -> bool:
    """Tell whether a task goes on: the event that it stopped may be lost."""
    return bool(task) and any(each.arn == task for each in ports.runners.running())


def has_slot(ports: Ports, layer: SpeculativePlan) -> bool:
    """Tell whether a layer has its place in its repository: it takes it first, and gives it back first."""
    return layer.id in ports.plan_slots.read(layer.repository).held


class _Holders:
    """Those who have slots or wait for them, or some of them."""

    def __init__(self, ports: Ports, places: SlotUsage, only: tuple[str, ...] = ()) -> None:
        self._ports, self._places = ports, places
        self._ids = [each for each in (*places.held, *places.line) if not only or each in only]
        self._deployments: Mapping[str, Deployment] = dict(self._read_deployments())
        left = [each for each in self._ids if each not in self._deployments]
        self._layers = {each.id: each for each in ports.speculative_plans.many(left)}

    def unneeded(self) -> set[str]:
        """Return those of which no job runs or begins. A layer that waits leaves the queue once it has ended."""
        return {each for each in self._ids if not self._needs(each)}

    def asleep(self) -> set[str]:
        """Return those that have a slot and may wait all the same: who handed it over may have died."""
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

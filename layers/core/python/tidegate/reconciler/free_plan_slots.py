"""Release plan slots without a running execution, and hand free slots to waiting plans.

The slots are read before their holders: an execution that runs then has had its slot all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.slots.assign_plan_slots import assign_free_plan_slots, release_plan_slots, wake_holder
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import NotFound

#: Repositories in one run; each reads the executions of its slot holders.
WATCHED = 100

#: Returns an execution's final status, None while it runs. Raises NotFound.
Ending = Callable[[str], str | None]


def free_plan_slots(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(sorted(set(ports.plan_slots.busy()) - {INSTALLATION}), partial(_free, ports), WATCHED)


def _free(ports: Ports, repository: str) -> bool:
    places = ports.plan_slots.read(repository)
    if places.is_quiet:
        ports.plan_slots.rest(repository)
        return False
    planned = _planned(ports, repository, ports.speculative_plans.many([*places.held, *places.line]))
    idle = [each for each in (*places.held, *places.line) if each not in planned]
    release_plan_slots(ports, repository, idle)
    woken = [each for each in places.held if each in planned and wake_holder(ports, repository, each)]
    handed_on = assign_free_plan_slots(ports, ports.plan_slots.read(repository))
    return bool(idle or woken or handed_on)


def _planned(ports: Ports, repository: str, layers: Iterable[SpeculativePlan]) -> Collection[str]:
    """Return the layers whose execution still runs."""
    undone = [each for each in layers if not each.is_done]
    owners = {(each.pull_request, each.schedule) for each in undone}
    named = {name for owner in owners for name in _worked_on(ports, repository, *owner)}
    return {each.id for each in undone} & named


def _worked_on(ports: Ports, repository: str, pull_request: int, schedule: str) -> Collection[str]:
    """Return the layers of a pull request or schedule, if its execution runs."""
    try:
        if schedule:
            run = ports.drifts.get(repository, schedule)
            return run.layers if run.execution and ports.drift_runs.ending(run.execution) is None else ()
        record = ports.pull_requests.get(repository, pull_request)
        return record.layers if record.is_open and ports.workflows.pull_request_ending(record.execution) is None else ()
    except NotFound:
        return ()

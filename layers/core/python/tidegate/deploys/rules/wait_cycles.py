"""Deadlocks: deployments at gates that wait for each other through their queues, so none ever continues.

A deployment waits for another of its change that is queued behind a third, which waits at a gate as well, and so on
back to the first. That needs a root in several stacks, or rules whose order changed: then queues hold two changes in
different orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import Point, is_behind, point_of, waits_for
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State

#: Links of a cycle that are shown: more are hard to read.
_TOLD = 4


@dataclass(frozen=True, slots=True)
class _Same:
    """What those have in common that wait for the same: all of a stack wait for the stacks before it."""

    change_set: str
    stack: str
    point: Point
    waits: Waits
    own: str


#: One that waits, by its id, or what it has in common with others.
_Node = str | _Same
#: What those that wait for the same wait for, by the ids of those behind which it stands.
_Links = Mapping[_Same, Mapping[str, Deployment]]


def cycles(deployments: Iterable[Deployment]) -> dict[str, str]:
    """Return which deployments must give up, by id, with sentences that say why and what to do.

    ``deployments`` are all that have not ended. In each cycle one gives up: the one chosen before, or else a manual
    one, or else the newest.
    """
    known = list(deployments)
    at_gates = {each.queue: each for each in known if _waits(each)}
    waiting = {each.id: each for each in at_gates.values()}
    links = _links(known, at_gates)
    ahead: dict[_Node, Iterable[_Node]] = {identifier: [_same(each)] for identifier, each in waiting.items()}
    ahead |= {same: list(found) for same, found in links.items()}

    def first_of(cycle: Sequence[str]) -> str:
        told_before = [each for each in cycle if _is_told(waiting[each])]
        return max(told_before or cycle, key=lambda each: _rank(waiting[each]))

    found = _cycles(ahead, first_of)
    return {first: _sentences([waiting[each] for each in cycle], links) for first, cycle in found.items()}


def _links(known: Iterable[Deployment], at_gates: Mapping[str, Deployment]) -> _Links:
    """Return what is waited for behind whom. ``at_gates`` has who waits by their queues."""
    in_line: dict[tuple[str, ...], list[Deployment]] = {}
    for each in known:
        holder = at_gates.get(each.queue)
        if holder is not None and each.state is State.QUEUED and each.change.id and not _goes_first(each, holder):
            in_line.setdefault((each.change.id, each.stack), []).append(each)
            in_line.setdefault((each.change.id, each.stack, each.root.name), []).append(each)
    found: dict[_Same, dict[str, Deployment]] = {}
    for waiting in at_gates.values():
        same = _same(waiting)
        if same not in found:
            possible = (each for place in _awaited(waiting) for each in in_line.get(place, ()))
            awaited = (each for each in possible if waits_for(waiting, each.root.name, each.stack))
            found[same] = {at_gates[each.queue].id: each for each in awaited}
    return found


def _awaited(waiting: Deployment) -> Iterator[tuple[str, ...]]:
    """Yield where everything is that a deployment may wait for: a stack of its change, or a root there."""
    waits, change = waiting.change.waits, waiting.change.id
    yield from ((change, stack) for stack in (*waits.plan_after, *waits.apply_after))
    yield from ((change, waiting.stack, root) for root in waits.roots)


def _same(waiting: Deployment) -> _Same:
    waits, name = waiting.change.waits, waiting.root.name
    own = name if name in waits.roots or waiting.stack in {*waits.plan_after, *waits.apply_after} else ""
    return _Same(waiting.change.id, waiting.stack, point_of(waiting), waits, own)


def _goes_first(queued: Deployment, holder: Deployment) -> bool:
    """Tell whether the deployment in front yields to this one."""
    return queued.change.id == holder.change.id and is_behind(holder, queued)


def _waits(deployment: Deployment) -> bool:
    """Tell whether only a cycle's decision is missing for a deployment at its gate."""
    gate = deployment.gate
    if gate is None or gate.next is not None:
        return False
    return deployment.state is State.GATED or (deployment.state is State.BLOCKED and bool(gate.cycle))


def _cycles(ahead: Mapping[_Node, Iterable[_Node]], first_of: Callable[[Sequence[str]], str]) -> dict[str, list[str]]:
    """Return cycles of which each has lost its first, by that: its ids, of which each waits behind the next.

    What is left has no cycle. One walk finds all: after each, it goes on from before the first, which is not looked
    at any more; and what it has left for good leads to no cycle.
    """
    found: dict[str, list[str]] = {}
    left: set[_Node] = set()
    way: dict[_Node, Iterator[_Node]] = {}
    pending = list(ahead)
    while way or pending:
        node = next(way[next(reversed(way))], None) if way else pending.pop()
        if node is None:
            left.add(way.popitem()[0])
        elif node in way:
            cycle = [each for each in _since(node, way) if isinstance(each, str)]
            first = first_of(cycle)
            found[first] = _beginning_with(first, cycle)
            left.add(first)
            while way.popitem()[0] != first:  # The rest is still pending: it may be in other cycles.
                pass
        elif node not in left:
            way[node] = iter(ahead[node])
    return found


def _since(node: _Node, way: dict[_Node, Iterator[_Node]]) -> list[_Node]:
    """Return the end of a way, from a node on."""
    after = iter(reversed(way).__next__, node)
    return [*after, node][::-1]


def _is_told(deployment: Deployment) -> bool:
    return deployment.gate is not None and bool(deployment.gate.cycle)


def _rank(deployment: Deployment) -> tuple[bool, datetime, str]:
    return deployment.request.trigger is Trigger.MANUAL, deployment.request.at, deployment.id


def _beginning_with(first: str, cycle: Sequence[str]) -> list[str]:
    place = cycle.index(first)
    return [*cycle[place:], *cycle[:place]]


def _sentences(cycle: Sequence[Deployment], links: _Links) -> str:
    """Return what the first of a cycle is told."""
    told = []
    for one, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        holder = "this deployment" if other is cycle[0] else f"{_name(other)} of {other.revision.short}"
        awaited = links[_same(one)][other.id]
        told.append(f"for {_name(awaited)}, which is queued behind {holder}")
    if len(told) > _TOLD:
        told = [*told[: _TOLD - 1], "for others, and so on", told[-1]]
    waits = "; that one waits ".join(told)
    return (
        f"These deployments wait for each other (a deadlock): this deployment waits {waits}. Reject this "
        "deployment or one of the others. You can deploy the rejected one again once the others are done."
    )


def _name(deployment: Deployment) -> str:
    return f"{deployment.root.name} ({deployment.stack})"

"""Deployments at gates that wait for each other over their queues: none of them ever goes on by itself.

One waits for another of its change that stands in line behind a third, which waits at a gate as well, and so on back
to the first. That needs a root in several stacks, or rules whose order changed: then queues hold two changes in
different orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from tidegate.domain.deployment import Deployment, State, Trigger
from tidegate.domain.gate import is_behind, waits_for

#: Links of a circle that are told: more are hard to read.
_TOLD = 4


@dataclass(frozen=True, slots=True)
class _Link:
    """What is waited for, in line behind one that is at its own gate."""

    awaited: Deployment
    holder: Deployment


def circles(deployments: Iterable[Deployment]) -> dict[str, str]:
    """Return who must give up for others to go on, by id, with sentences that say why and what to do.

    ``deployments`` are all that have not ended. Of each circle it is one: the one that was told so before, or else one
    by hand, or else the newest.
    """
    known = list(deployments)
    at_gates = {each.queue: each for each in known if _waits(each)}
    links = _links(known, at_gates)
    by_id = {each.id: each for each in at_gates.values()}
    ahead = {waiting: set(found) for waiting, found in links.items()}
    found: dict[str, str] = {}
    while (circle := _circle(ahead)) is not None:
        told_before = [each for each in circle if _is_told(by_id[each])]
        first = max(told_before or circle, key=lambda each: _rank(by_id[each]))
        del ahead[first]
        found[first] = _sentences(_beginning_with(first, circle), links)
    return found


def _links(known: Iterable[Deployment], at_gates: Mapping[str, Deployment]) -> dict[str, dict[str, _Link]]:
    """Return what each waits for behind whom, by the ids of both. ``at_gates`` has who waits by their queues."""
    in_line: dict[str, list[Deployment]] = {}
    for each in known:
        if each.state is State.QUEUED and each.change_set and each.queue in at_gates:
            in_line.setdefault(each.change_set, []).append(each)
    found: dict[str, dict[str, _Link]] = {}
    for waiting in at_gates.values():
        awaited = [each for each in in_line.get(waiting.change_set, ()) if _is_held_up(waiting, each)]
        holders = ((each, at_gates[each.queue]) for each in awaited)
        found[waiting.id] = {holder.id: _Link(each, holder) for each, holder in holders}
    return found


def _is_held_up(waiting: Deployment, other: Deployment) -> bool:
    """Tell whether one waits for the other, and does not step aside for it."""
    return waits_for(waiting, other.root.name, other.stack) and not is_behind(waiting, other)


def _waits(deployment: Deployment) -> bool:
    """Tell whether a deployment waits at its gate for nobody's decision but that of a circle."""
    gate = deployment.gate
    if gate is None or gate.next is not None:
        return False
    return deployment.state is State.GATED or (deployment.state is State.BLOCKED and bool(gate.circle))


def _circle(ahead: Mapping[str, set[str]]) -> list[str] | None:
    """Return ids of which each waits behind the next, and the last behind the first; None if there are none."""
    try:
        TopologicalSorter(ahead).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[:0:-1]
    return None


def _is_told(deployment: Deployment) -> bool:
    return deployment.gate is not None and bool(deployment.gate.circle)


def _rank(deployment: Deployment) -> tuple[bool, str, str]:
    return deployment.trigger is Trigger.MANUAL, deployment.requested_at, deployment.id


def _beginning_with(first: str, circle: Sequence[str]) -> list[str]:
    place = circle.index(first)
    return [*circle[place:], *circle[:place]]


def _sentences(circle: Sequence[str], links: Mapping[str, Mapping[str, _Link]]) -> str:
    """Return what the first of a circle is told."""
    told = []
    for one, other in zip(circle, [*circle[1:], circle[0]], strict=True):
        link = links[one][other]
        holder = "this one" if other == circle[0] else f"{_name(link.holder)} of {link.holder.revision.short}"
        told.append(f"for {_name(link.awaited)}, which stands in line behind {holder}")
    if len(told) > _TOLD:
        told = [*told[: _TOLD - 1], "for others, and so on", told[-1]]
    waits = "; that one waits ".join(told)
    return (
        f"None of these goes on by itself: this one waits {waits}. Reject this one, or one of the others. "
        "What is rejected can be asked for again once the others are done."
    )


def _name(deployment: Deployment) -> str:
    return f"{deployment.root.name} ({deployment.stack})"

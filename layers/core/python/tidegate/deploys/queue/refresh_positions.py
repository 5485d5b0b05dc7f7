"""Bring the check runs of a queue's line up to date: those that are due now, the others in time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.queue_snapshot import PAUSE, Look, Named, Shown, Standing, look, policy_statuses
from tidegate.deploys.rules.state import State
from tidegate.ports import Ports, QueueSnapshot

#: Seconds: as long as a message can be delayed (SQS). Who looks then and is too early waits once more.
_LONGEST = 900
#: Line changes come this much apart; what is due sooner needs no message of its own that is delayed.
_SOON = timedelta(seconds=2)


def refresh_positions(ports: Ports, queue: str) -> int:
    """Ask for the check runs that are due, and see to it that somebody looks again. Return how many are due.

    After a death half-way the same are due again; whoever shows them sees that nothing is new.
    """
    head, line = ports.queues.line(queue)
    board = ports.queue_snapshots.read(queue)
    running = _running(ports, head)
    if running is not None and running.state is State.BLOCKED and line:  # A newer one may take its place.
        ports.event_publisher.change_moved(running.change.id)
    now = ports.clock.now()
    seen = look(now, policy_statuses(head, line, running.state if running else None), board.shown)
    shas = {waiting.deployment: waiting.revision for waiting in line}
    if running is not None:
        shas[running.id] = running.revision.sha
    _show(ports, queue, seen, shas, now)
    _again(ports, queue, seen.again, board, now)
    return len(seen.due)


def _running(ports: Ports, head: QueueHead) -> Deployment | None:
    if head.in_flight is None:
        return None
    return ports.deployments.many([head.in_flight]).get(head.in_flight)


def _show(ports: Ports, queue: str, seen: Look, shas: Mapping[str, str], now: datetime) -> None:
    """Store what the check runs that are due are to show, ask for them, and store that they were asked for."""
    standing = {name: one for name, one in seen.due.items() if one is not None}
    names = _names(ports, standing.values(), shas)
    shown = {name: Shown(one, now, tuple(names[other] for other in _named(one))) for name, one in standing.items()}
    if shown:
        ports.queue_snapshots.write(queue, shown, ())
    for name in seen.due:
        ports.event_publisher.position_changed(name)
    asked = {name: replace(one, asked=True) for name, one in shown.items()}
    if asked or seen.gone:
        ports.queue_snapshots.write(queue, asked, seen.gone)


def _names(ports: Ports, standing: Iterable[Standing], shas: Mapping[str, str]) -> Mapping[str, Named]:
    """Return the deployments that check runs name, with their commits and check runs, read at once."""
    wanted: Collection[str] = sorted({name for one in standing for name in _named(one)})
    published = ports.check_runs.many(wanted) if wanted else {}
    numbers = {name: published[name].id if name in published else None for name in wanted}
    return {name: Named(name, shas.get(name, ""), numbers[name]) for name in wanted}


def _again(ports: Ports, queue: str, again: datetime | None, board: QueueSnapshot, now: datetime) -> None:
    """Have somebody look again when something is due by then, unless somebody does so before."""
    if again is None:
        return
    if again - now <= _SOON:
        ports.event_publisher.queue_changed(queue)
        return
    at = min(again, now + timedelta(seconds=_LONGEST))
    if board.again and now < board.again <= at + PAUSE:
        return
    ports.queue_snapshots.expect(queue, at)
    ports.event_publisher.queue_changed_later(queue, ceil((at - now).total_seconds()))


def _named(standing: Standing) -> tuple[str, ...]:
    locker = standing.lock.deployment if standing.lock else ""
    return tuple(dict.fromkeys(name for name in (standing.running, standing.behind, locker) if name))

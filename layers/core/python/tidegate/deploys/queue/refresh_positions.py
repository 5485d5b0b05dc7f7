"""Update the check runs of a queue's deployments: now if they are due, otherwise later."""

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

#: Seconds: the longest delay of an SQS message. A message that arrives too early is delayed again.
_LONGEST = 900
#: Seconds between changes of a queue; what is due sooner needs no delayed message.
_SOON = timedelta(seconds=2)


def refresh_positions(ports: Ports, queue: str) -> int:
    """Request the check-run updates that are due, and schedule the next refresh. Return how many are due.

    If this dies half-way, the same updates are due again; the publisher skips those without a change.
    """
    head, line = ports.queues.line(queue)
    board = ports.queue_snapshots.read(queue)
    running = _running(ports, head)
    if running is not None and running.state is State.BLOCKED and line:  # A newer one may supersede it.
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
    """Store what the due check runs show, request their updates, and store that they were requested."""
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
    """Read the deployments that check runs name, with their commits and check runs."""
    wanted: Collection[str] = sorted({name for one in standing for name in _named(one)})
    published = ports.check_runs.many(wanted) if wanted else {}
    numbers = {name: published[name].id if name in published else None for name in wanted}
    return {name: Named(name, shas.get(name, ""), numbers[name]) for name in wanted}


def _again(ports: Ports, queue: str, again: datetime | None, board: QueueSnapshot, now: datetime) -> None:
    """Schedule the next refresh if something is due by then, unless another one comes before."""
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

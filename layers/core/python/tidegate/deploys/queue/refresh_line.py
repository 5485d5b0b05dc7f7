"""Bring the check runs of a queue's line up to date: those that are due now, the others in time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from tidegate.deploys.rules.deployment import Deployment, State
from tidegate.deploys.rules.line import PAUSE, Look, Named, Shown, Standing, look, standings
from tidegate.deploys.rules.queue import QueueHead
from tidegate.ports import Announcements, CheckRuns, Clock, Deployments, DeployQueues, LineBoard, LineBoards

#: Seconds: as long as a message can be delayed (SQS). Who looks then and is too early waits once more.
_LONGEST = 900
#: Line changes come this much apart; what is due sooner needs no message of its own that is delayed.
_SOON = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class LineRefresher:
    """Refreshes lines: the queue and what was shown of it are read once each, whatever the line's length."""

    queues: DeployQueues
    boards: LineBoards
    deployments: Deployments
    check_runs: CheckRuns
    announcements: Announcements
    clock: Clock

    def refresh(self, queue: str) -> int:
        """Ask for the check runs that are due, and see to it that somebody looks again. Return how many are due.

        After a death half-way the same are due again; whoever shows them sees that nothing is new.
        """
        head, line = self.queues.line(queue)
        board = self.boards.read(queue)
        running = self._running(head)
        if running is not None and running.state is State.BLOCKED and line:  # A newer one may take its place.
            self.announcements.change_moved(running.change_set)
        now = datetime.fromisoformat(self.clock.now())
        seen = look(now, standings(head, line, running.state if running else None), board.shown)
        shas = {waiting.deployment: waiting.revision for waiting in line}
        if running is not None:
            shas[running.id] = running.revision.sha
        self._show(queue, seen, shas, now)
        self._again(queue, seen.again, board, now)
        return len(seen.due)

    def _running(self, head: QueueHead) -> Deployment | None:
        if head.in_flight is None:
            return None
        return self.deployments.many([head.in_flight]).get(head.in_flight)

    def _show(self, queue: str, seen: Look, shas: Mapping[str, str], now: datetime) -> None:
        """Store what the check runs that are due are to show, ask for them, and store that they were asked for."""
        standing = {name: one for name, one in seen.due.items() if one is not None}
        names = self._names(standing.values(), shas)
        at = now.isoformat(timespec="microseconds")
        shown = {name: Shown(one, at, tuple(names[other] for other in _named(one))) for name, one in standing.items()}
        if shown:
            self.boards.write(queue, shown, ())
        for name in seen.due:
            self.announcements.place_changed(name)
        asked = {name: replace(one, asked=True) for name, one in shown.items()}
        if asked or seen.gone:
            self.boards.write(queue, asked, seen.gone)

    def _names(self, standing: Iterable[Standing], shas: Mapping[str, str]) -> Mapping[str, Named]:
        """Return the deployments that check runs name, with their commits and check runs, read at once."""
        wanted: Collection[str] = sorted({name for one in standing for name in _named(one)})
        published = self.check_runs.many(wanted) if wanted else {}
        numbers = {name: published[name].id if name in published else None for name in wanted}
        return {name: Named(name, shas.get(name, ""), numbers[name]) for name in wanted}

    def _again(self, queue: str, again: datetime | None, board: LineBoard, now: datetime) -> None:
        """Have somebody look again when something is due by then, unless somebody does so before."""
        if again is None:
            return
        if again - now <= _SOON:
            self.announcements.line_changed(queue)
            return
        at = min(again, now + timedelta(seconds=_LONGEST))
        if board.again and now < datetime.fromisoformat(board.again) <= at + PAUSE:
            return
        self.boards.expect(queue, at.isoformat(timespec="microseconds"))
        self.announcements.line_later(queue, ceil((at - now).total_seconds()))


def _named(standing: Standing) -> tuple[str, ...]:
    locker = standing.lock.deployment if standing.lock else ""
    return tuple(dict.fromkeys(name for name in (standing.running, standing.behind, locker) if name))

"""Have the lines of queues looked at whose messages were lost: check runs would show an old place for ever."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.ports import Announcements, DeployQueues
from tidegate.reconciler.turn import Turn

_AT_MOST = 1000


@dataclass(frozen=True, slots=True)
class RefreshLines:
    """Asks for each queue in which something waits, or that is locked; whoever looks shows only what is new."""

    queues: DeployQueues
    announcements: Announcements

    def repair(self, turn: Turn) -> int:
        return turn.each(sorted(self.queues.unfinished()), self._ask, _AT_MOST)

    def _ask(self, queue: str) -> bool:
        head, first = self.queues.read(queue)
        if first is None and head.lock is None:
            return False
        self.announcements.line_changed(queue)
        return True

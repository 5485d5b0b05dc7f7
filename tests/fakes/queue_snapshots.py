"""What check runs were asked to show of lines, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from tidegate.deploys.rules.queue_snapshot import Shown
from tidegate.ports import QueueSnapshot


class MemoryQueueSnapshots:
    """The port ``QueueSnapshots``."""

    def __init__(self) -> None:
        self._shown: dict[str, dict[str, Shown]] = {}
        self._again: dict[str, datetime] = {}

    def read(self, queue: str) -> QueueSnapshot:
        return QueueSnapshot(dict(self._shown.get(queue, {})), self._again.get(queue))

    def shown(self, queue: str, deployment: str) -> Shown | None:
        return self._shown.get(queue, {}).get(deployment)

    def write(self, queue: str, shown: Mapping[str, Shown], gone: Collection[str]) -> None:
        board = self._shown.setdefault(queue, {})
        board.update(shown)
        for name in gone:
            board.pop(name, None)

    def expect(self, queue: str, again: datetime) -> None:
        self._again[queue] = again

"""Refresh queues' positions whose messages were lost: check runs would show an old position forever.

The refresh updates only changed ones.
"""

from __future__ import annotations

from functools import partial

from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass

_AT_MOST = 1000


def refresh_all_positions(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(sorted(ports.queues.unfinished()), partial(_ask, ports), _AT_MOST)


def _ask(ports: Ports, queue: str) -> bool:
    head, first = ports.queues.read(queue)
    if first is None and head.lock is None:
        return False
    ports.event_publisher.queue_changed(queue)
    return True

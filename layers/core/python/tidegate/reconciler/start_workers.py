"""Start or wake the workers of queues that have work."""

from __future__ import annotations

from functools import partial

from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.rules.queue import has_work
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass

_AT_MOST = 1000


def start_workers(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(sorted(ports.queues.unfinished()), partial(_wake, ports), _AT_MOST)


def _wake(ports: Ports, queue: str) -> bool:
    head, first = ports.queues.read(queue)
    if not has_work(head, first):
        return False
    ensure_worker(ports, queue)
    return True

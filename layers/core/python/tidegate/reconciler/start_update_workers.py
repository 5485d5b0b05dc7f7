"""Wake the workers of config repositories: webhooks, starts and ends of executions may have been missed."""

from __future__ import annotations

from functools import partial

from tidegate.config_updates.queue.close_worker import release_update_queue
from tidegate.config_updates.queue.wake_worker import ensure_worker, wake_worker
from tidegate.config_updates.rules.queue import UpdateHead
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.reconciler.release_queues import FORGOTTEN, WATCHED
from tidegate.rules.errors import NotFound


def start_update_workers(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(sorted(ports.config_updates.repositories()), partial(_reconcile, ports), WATCHED)


def _reconcile(ports: Ports, repository: str) -> bool:
    """Release the queue from an ended execution; wake a worker as long as something is on the auto branch."""
    head = ports.config_updates.head(repository)
    status = _ending(ports, head)
    if head.worker is not None and status is not None:
        release_update_queue(ports, repository, head.worker.execution, status)
    if head.stack:
        wake_worker(ports, repository)
    elif head.has_work:
        ensure_worker(ports, repository)
    return bool(status or head.has_work)


def _ending(ports: Ports, head: UpdateHead) -> str | None:
    if head.worker is None:
        return None
    try:
        return ports.update_workflows.worker_ending(head.worker.execution)
    except NotFound:
        return FORGOTTEN if head.worker.started else None

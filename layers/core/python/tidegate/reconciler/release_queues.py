"""Release queues from executions whose end was missed."""

from __future__ import annotations

from functools import partial

from tidegate.deploys.queue.execution_closed import ClosedExecution, release_queue
from tidegate.deploys.rules.queue import Worker
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import NotFound

#: Workers in one run: Step Functions describes some ten executions a second for a whole account.
WATCHED = 100
#: The status of a started execution that Step Functions has deleted.
FORGOTTEN = "FORGOTTEN"


def release_queues(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(sorted(ports.queues.unfinished()), partial(_release, ports), WATCHED)


def _release(ports: Ports, queue: str) -> bool:
    head, _ = ports.queues.read(queue)
    status = _ending(ports, head.worker) if head.worker else None
    if head.worker is None or status is None:
        return False
    release_queue(ports, ClosedExecution(queue, head.worker.execution, status))
    return True


def _ending(ports: Ports, worker: Worker) -> str | None:
    try:
        return ports.workflows.ending(worker.execution)
    except NotFound:
        return FORGOTTEN if worker.started else None

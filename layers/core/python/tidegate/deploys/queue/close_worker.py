"""Close a worker whose idle time is over, if nothing has arrived meanwhile.

A closed worker stays closed; the next deployment gets the next generation.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.queue import has_work, works_here
from tidegate.messages import CloseWorker, WorkerClosed
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def close_worker(ports: Ports, message: CloseWorker) -> WorkerClosed:
    """Remove the worker from its queue if there is no work. Raise Conflict after repeated concurrent writes."""
    return deciding_again(lambda: _close(ports, message))


def _close(ports: Ports, message: CloseWorker) -> WorkerClosed:
    head, first = ports.queues.read(message.queue)
    if not works_here(head, message.execution):
        return WorkerClosed(closed=True)
    if has_work(head, first):
        return WorkerClosed(closed=False)
    ports.queues.commit(head, replace(head, worker=None, token=None))
    return WorkerClosed(closed=True)

"""Close a worker that has waited long enough, if nothing has come meanwhile.

Once closed, a worker stays so; the next deployment gets the next generation.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.queue import has_work, works_here
from tidegate.messages import CloseWorker, WorkerClosed
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def close_worker(ports: Ports, message: CloseWorker) -> WorkerClosed:
    """Take the worker off its queue if it has no work. Raise Conflict when others keep writing."""
    return deciding_again(lambda: _close(ports, message))


def _close(ports: Ports, message: CloseWorker) -> WorkerClosed:
    head, first = ports.queues.read(message.queue)
    if not works_here(head, message.execution):
        return WorkerClosed(closed=True)
    if has_work(head, first):
        return WorkerClosed(closed=False)
    ports.queues.commit(head, replace(head, worker=None, token=None))
    return WorkerClosed(closed=True)

"""Continue a queue's work in a new execution, long before this one's history is full or its year is over.

A repeated call starts the same next execution.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.rules.queue import has_work, next_worker, works_here
from tidegate.messages import ContinueAsNew
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def continue_as_new(ports: Ports, message: ContinueAsNew) -> None:
    """Make the next generation the queue's worker and start it, or release a queue without work.

    On Conflict or CloudUnavailable, call again.
    """
    deciding_again(lambda: _commit(ports, message))
    ensure_worker(ports, message.queue)


def _commit(ports: Ports, message: ContinueAsNew) -> None:
    head, first = ports.queues.read(message.queue)
    if not works_here(head, message.execution):
        return
    if has_work(head, first):
        worker = next_worker(head)
        ports.queues.commit(head, replace(head, worker=worker, generation=worker.generation, token=None))
    else:
        ports.queues.commit(head, replace(head, worker=None, token=None))

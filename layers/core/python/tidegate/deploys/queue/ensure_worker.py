"""Ensure that an execution works on a queue that has work.

A repeated call is harmless, and completes an interrupted one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tidegate.deploys.rules.queue import QueueHead, Waiting, has_work, next_worker
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import Conflict, TooLate

#: A queue's head and first deployment, from one read.
Seen = tuple[QueueHead, Waiting | None]


def ensure_worker(ports: Ports, queue: str, seen: Seen | None = None) -> None:
    """Start a worker if there is none, start it again if it has not begun, wake it if it waits.

    ``seen`` is the queue as the caller left it, which saves a read. Raise CloudUnavailable if Step Functions refuses
    for now: call again then.
    """
    if seen is not None:
        with suppress(Conflict):
            _ensure(ports, *seen)
            return
    deciding_again(lambda: _ensure(ports, *ports.queues.read(queue)))


def _ensure(ports: Ports, head: QueueHead, first: Waiting | None) -> None:
    if not has_work(head, first):
        return
    if head.worker is None:
        worker = next_worker(head)
        after = replace(head, worker=worker, generation=worker.generation, token=None)
        head = ports.queues.commit(head, after)
    if head.worker is not None and not head.worker.started:
        ports.workflows.start_deploy(head.worker.execution, head.queue)
    elif head.token is not None:
        wake(ports, head.token)


def wake(ports: Ports, token: str) -> None:
    """Settle a worker's token. It stays at the head in case this call is lost.

    If the token has expired, the worker is awake, or reads the queue again before it closes.
    """
    with suppress(TooLate):
        ports.workflows.settle(token, {"reason": "The queue has work."})

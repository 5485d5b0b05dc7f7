"""End a worker: because nothing came, to continue as a new execution, or after a failure."""

from __future__ import annotations

from dataclasses import replace

from tidegate.config_updates.queue.wake_worker import ensure_worker
from tidegate.config_updates.rules.queue import next_worker, works_here
from tidegate.messages import WorkerClosed
from tidegate.messages.config_updates import CloseUpdateWorker, ContinueUpdates
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def close_update_worker(ports: Ports, message: CloseUpdateWorker) -> WorkerClosed:
    """Remove the worker from its queue if there is no work. Raise Conflict after repeated concurrent writes."""
    return deciding_again(lambda: _close(ports, message))


def _close(ports: Ports, message: CloseUpdateWorker) -> WorkerClosed:
    head = ports.config_updates.head(message.repository)
    if not works_here(head, message.execution):
        return WorkerClosed(closed=True)
    if head.has_work:
        return WorkerClosed(closed=False)
    ports.config_updates.commit(head, replace(head, worker=None, token=None))
    return WorkerClosed(closed=True)


def continue_updates(ports: Ports, message: ContinueUpdates) -> None:
    """Make the next generation the queue's worker and start it, or release a queue without work.

    A repeated call starts the same next execution. On Conflict or CloudUnavailable, call again.
    """
    deciding_again(lambda: _release(ports, message.repository, message.execution, goes_on=True))
    ensure_worker(ports, message.repository)


def release_update_queue(ports: Ports, repository: str, execution: str, status: str) -> None:
    """Release the queue of an execution that failed, was aborted or timed out.

    After an internal error the reconciler starts the new worker, so that a lasting fault repeats every few minutes and
    not every second. On Conflict or CloudUnavailable, call again.
    """
    deciding_again(lambda: _release(ports, repository, execution, goes_on=False))
    if status != "FAILED":
        ensure_worker(ports, repository)


def _release(ports: Ports, repository: str, execution: str, *, goes_on: bool) -> None:
    head = ports.config_updates.head(repository)
    if not works_here(head, execution):
        return
    if goes_on and head.has_work:
        worker = next_worker(head)
        ports.config_updates.commit(head, replace(head, worker=worker, generation=worker.generation, token=None))
    else:
        ports.config_updates.commit(head, replace(head, worker=None, token=None))

"""Ensure that an execution reads a config repository's queue again: something may have happened."""

from __future__ import annotations

from dataclasses import replace

from tidegate.config_updates.rules.queue import UpdateHead, next_worker
from tidegate.deploys.queue.ensure_worker import wake
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def wake_worker(ports: Ports, repository: str) -> None:
    """Request that the worker decide again, and ensure that there is one. A repeated call is harmless.

    Raise Conflict after repeated concurrent writes, CloudUnavailable if Step Functions refuses for now: call again.
    """
    deciding_again(lambda: _ask(ports, repository))
    ensure_worker(ports, repository)


def _ask(ports: Ports, repository: str) -> None:
    head = ports.config_updates.head(repository)
    if not head.asked:
        ports.config_updates.commit(head, replace(head, asked=True))


def ensure_worker(ports: Ports, repository: str) -> None:
    """Start a worker if there is none and the queue has work, start it again if it has not begun, wake it if it waits.

    Raise Conflict and CloudUnavailable as ``wake_worker`` does.
    """
    deciding_again(lambda: _ensure(ports, ports.config_updates.head(repository)))


def _ensure(ports: Ports, head: UpdateHead) -> None:
    if not head.has_work:
        return
    if head.worker is None:
        worker = next_worker(head)
        after = replace(head, worker=worker, generation=worker.generation, token=None)
        head = ports.config_updates.commit(head, after)
    if head.worker is not None and not head.worker.started:
        ports.update_workflows.start_worker(head.worker.execution, head.repository)
    elif head.token is not None:
        wake(ports, head.token)

"""Enqueue deployments of several roots; a failure of one does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidegate.deploys.rules.deployment import Deployment


def enqueue_all(deployments: Iterable[Deployment], enqueue: Callable[[Deployment], object]) -> None:
    """Enqueue all. Raise ExceptionGroup if some failed; all others are enqueued then.

    For a root in several stacks, nothing is enqueued after a failed deployment: it may depend on that one and would
    precede it in the queue.
    """
    failures, failed = [], set()
    for deployment in deployments:
        if deployment.queue in failed:
            continue
        try:
            enqueue(deployment)
        except Exception as error:  # noqa: BLE001  # One root's failure must not hold the others back.
            error.add_note(f"while enqueuing {deployment.root.name}")
            failures.append(error)
            failed.add(deployment.queue)
    if failures:
        raise ExceptionGroup("Some roots could not be enqueued. The event will be retried.", failures)

"""Enqueue the deployments of several roots, so that none holds the others back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidegate.deploys.rules.deployment import Deployment


def enqueue_all(deployments: Iterable[Deployment], enqueue: Callable[[Deployment], object]) -> None:
    """Enqueue all. Raise ExceptionGroup when some could not be; all others are enqueued then.

    Of a root in several stacks nothing is enqueued after one that could not be: it would stand before that in line, and
    may wait for it.
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

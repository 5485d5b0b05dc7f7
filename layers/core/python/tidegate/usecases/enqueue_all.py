"""Enqueue the deployments of several roots, so that none holds the others back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidegate.domain.deployment import Deployment


def enqueue_all(deployments: Iterable[Deployment], enqueue: Callable[[Deployment], object]) -> None:
    """Enqueue all. Raise ExceptionGroup when some could not be; all others are enqueued then."""
    failures = []
    for deployment in deployments:
        try:
            enqueue(deployment)
        except Exception as error:  # noqa: BLE001  # One root's failure must not hold the others back.
            error.add_note(f"while enqueuing {deployment.root.name}")
            failures.append(error)
    if failures:
        raise ExceptionGroup("Roots could not be enqueued; the event is received again.", failures)

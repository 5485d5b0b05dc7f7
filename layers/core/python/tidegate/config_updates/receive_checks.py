"""Receive that CI has reported something of a commit. Which checks passed is read from the VCS provider."""

from __future__ import annotations

from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.ports import Delivery, DeliveryOutcome, Ports
from tidegate.vcs.conclude import conclude


def receive_checks(ports: Ports, delivery: Delivery) -> str:
    """Return what follows, and store it with the delivery. Raise as ``wake_worker`` does."""
    return conclude(ports.deliveries, delivery.id, lambda: _outcome(ports, delivery.fields["repository"]))


def _outcome(ports: Ports, repository: str) -> DeliveryOutcome:
    if wake_queue(ports, repository):
        return DeliveryOutcome("The worker of config updates reads the checks.")
    return DeliveryOutcome("The repository has no config updates.")


def wake_queue(ports: Ports, repository: str) -> bool:
    """Wake the worker of a repository's queue, and tell whether there is one. Raise as ``wake_worker`` does."""
    if not ports.config_updates.head(repository).version:
        return False
    wake_worker(ports, repository)
    return True

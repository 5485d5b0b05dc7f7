"""Publish that a queue is locked. A repeated call is harmless."""

from __future__ import annotations

from tidegate.deploys.rules.queue import QueueHead
from tidegate.ports import Ports
from tidegate.roots.rules.root import QUEUE_SEPARATOR


def publish_lock(ports: Ports, head: QueueHead) -> None:
    """Put the lock of a queue on the event bus, if it has one."""
    if head.lock is not None:
        stacks = [each.stack for each in head.by_stack]
        repository = head.queue.partition(QUEUE_SEPARATOR)[0]
        ports.event_publisher.locked(repository, head.root_name, head.lock, stacks)

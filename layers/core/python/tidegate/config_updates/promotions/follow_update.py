"""Do what follows from news of an entry: start its promotion, or let that go on."""

from __future__ import annotations

from tidegate.config_updates.promotions.begin_promotion import start_promotion
from tidegate.config_updates.promotions.review_promotions import review_promotions
from tidegate.config_updates.queue.wake_worker import ensure_worker
from tidegate.config_updates.rules.entry import EntryState
from tidegate.gates.environment_waits import wake_gates
from tidegate.messages.queues import FollowUpdate
from tidegate.ports import Ports

#: An entry may land before news of its commit arrive.
ON_AUTO = frozenset({EntryState.TESTING, EntryState.LANDED})


def follow_update(ports: Ports, message: FollowUpdate) -> None:
    """Start the promotion of an entry on the auto branch, evaluate all promotions, and the gates that wait for these.

    A repeated call is harmless. An entry without a commit needs the queue's worker. Raise NotFound, Conflict,
    CloudUnavailable, ExceptionGroup.
    """
    entry = ports.config_updates.entry(message.repository, message.entry)
    if entry.state in ON_AUTO:
        start_promotion(ports, entry)
    elif entry.state is EntryState.QUEUED:
        ensure_worker(ports, message.repository)
    review_promotions(ports, message.repository)
    wake_gates(ports, message.repository)

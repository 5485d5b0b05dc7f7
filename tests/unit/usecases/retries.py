"""Retries at gates, carried out at once and in the same process: their queue would do it soon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.fakes import MemoryDeliveries
from tidegate.deploys.authorize import Authorizer
from tidegate.deploys.rules.deployment import Deployment
from tidegate.gates.retry_blocked import BlockedRetrier, Retry, RetryHandover
from tidegate.ports import Announcements, ChangeSets, Deployments, DeployQueues, Forge


@dataclass(frozen=True)
class _AtOnce:
    receive: Callable[..., object]

    def send(self, delivery):
        self.receive(delivery)


def retrying(
    deployments: Deployments,
    change_sets: ChangeSets,
    forge: Forge,
    announcements: Announcements,
    enqueue: Callable[[Deployment], object],
    queues: DeployQueues,
    rules=lambda _where, again: {each.id: each for each in again},
) -> BlockedRetrier:
    """Return what carries retries out; ``rules`` leave deployments as they were, unless given."""
    authorizer = Authorizer(forge, queues, deployments)
    return BlockedRetrier(
        MemoryDeliveries(), deployments, change_sets, forge, announcements, authorizer, rules, enqueue
    )


def at_once(retrier: BlockedRetrier) -> Callable[[Retry], object]:
    """Return what hands retries over to ``retrier``."""
    return RetryHandover(retrier.deliveries, _AtOnce(retrier.receive)).hand_over

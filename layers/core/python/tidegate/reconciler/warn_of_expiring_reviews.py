"""Publish that a review expires within a day, once for each review."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import expires_soon, warned
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass

_AT_MOST = 500


def warn_of_expiring_reviews(ports: Ports, turn: ReconcilerPass) -> int:
    """Return how many reviews were published."""
    open_ = ports.deployments.many(sorted(ports.deployments.unshown())).values()
    expiring = [each for each in open_ if expires_soon(each, turn.clock.now())]
    return turn.each(expiring, lambda each: _warn(ports, each), _AT_MOST)


def _warn(ports: Ports, deployment: Deployment) -> bool:
    """Publish, then record it: if this dies in between, people are told twice and not never."""
    ports.event_publisher.review_expires_soon(deployment)
    ports.deployments.save(warned(deployment))
    return True

"""Carry out answers to plan reviews that were recorded only, because the function died.

A repeated call is harmless.
"""

from __future__ import annotations

from tidegate.deploys.reviews.carry_out_review import carry_out_review
from tidegate.deploys.rules.review import is_decided
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import NotFound

#: Seconds after which an answer counts as lost: recording and carrying it out takes a second.
FORGOTTEN_AFTER = 60
_AT_MOST = 500


def settle_reviews(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(sorted(ports.deployments.unshown()), lambda each: _settle(ports, each, turn), _AT_MOST)


def _settle(ports: Ports, identifier: str, turn: ReconcilerPass) -> bool:
    try:
        deployment = ports.deployments.get(identifier)
    except NotFound:
        return False
    if not is_decided(deployment) or deployment.review is None:
        return False
    answered = deployment.review.at or deployment.changed_at or deployment.request.at
    if (turn.clock.now() - answered).total_seconds() < FORGOTTEN_AFTER:
        return False
    carry_out_review(ports, deployment)
    return True

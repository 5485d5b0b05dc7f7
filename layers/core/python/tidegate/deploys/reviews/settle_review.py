"""Settle a review's token with the decision from the deployment's record."""

from __future__ import annotations

from contextlib import suppress

from tidegate.deploys.rules.deployment import Deployment
from tidegate.messages import ReviewDecided
from tidegate.ports import Deployments, Workflows
from tidegate.rules.errors import NotFound, TooLate


def settle_review(deployment: Deployment, deployments: Deployments, workflows: Workflows) -> None:
    """Settle the token of the deployment's decided review; a repeated call is harmless.

    The token may have expired, or the decision may have been sent before.
    """
    review = deployment.review
    if review is None or review.approved is None:
        raise ValueError(f"{deployment.id} has no decided review")
    decided = ReviewDecided(approved=review.approved, by=review.by or "", at=review.at or review.asked_at)
    with suppress(TooLate, NotFound):
        workflows.settle(deployments.review_token(deployment.id, review.id), decided.model_dump())

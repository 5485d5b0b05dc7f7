"""Carry out the answer to a plan review from the deployment's record.

A repeated call is harmless, and completes an interrupted one.
"""

from __future__ import annotations

from tidegate.deploys.finish import finish
from tidegate.deploys.reviews.settle_review import settle_review
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import is_decided
from tidegate.deploys.rules.state import is_final
from tidegate.ports import Ports


def carry_out_review(ports: Ports, deployment: Deployment) -> None:
    """Carry out a decisive answer; do nothing without one. Raise Conflict or CloudUnavailable."""
    if is_decided(deployment):
        go_on_with_review(ports, deployment)


def go_on_with_review(ports: Ports, deployment: Deployment) -> None:
    """Audit and save a rejection, settle the token of a decided review, and publish the change.

    Raise Conflict or CloudUnavailable.
    """
    deployment = _finished(ports, deployment)
    if deployment.review is not None and deployment.review.approved is not None:
        settle_review(deployment, ports.deployments, ports.workflows)
        ports.event_publisher.queue_changed(deployment.queue)
    ports.event_publisher.changed(deployment)


def _finished(ports: Ports, deployment: Deployment) -> Deployment:
    """Return the record after auditing and saving a rejection; any other record unchanged."""
    if deployment.outcome.ending is None or is_final(deployment.state):
        return deployment
    return ports.deployments.save(finish(ports, deployment, deployment.outcome.ending))

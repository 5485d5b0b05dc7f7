"""Go on with the answer to a plan review that is in the deployment's record.

Doing so again is harmless, and repairs what the death of whoever recorded one left.
"""

from __future__ import annotations

from tidegate.deploys.finish import finish
from tidegate.deploys.reviews.settle_review import settle_review
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import is_decided
from tidegate.deploys.rules.state import is_final
from tidegate.ports import Ports


def carry_out_review(ports: Ports, deployment: Deployment) -> None:
    """Go on with an answer that decided; do nothing where none did. Raise Conflict or CloudUnavailable."""
    if is_decided(deployment):
        go_on_with_review(ports, deployment)


def go_on_with_review(ports: Ports, deployment: Deployment) -> None:
    """Audit and save a rejection, settle the review's token once it is decided, and announce what is so now.

    Raise Conflict or CloudUnavailable.
    """
    deployment = _finished(ports, deployment)
    if deployment.review is not None and deployment.review.approved is not None:
        settle_review(deployment, ports.deployments, ports.workflows)
        ports.event_publisher.queue_changed(deployment.queue)
    ports.event_publisher.changed(deployment)


def _finished(ports: Ports, deployment: Deployment) -> Deployment:
    """Return the record after a rejection was audited and saved; any other as it is."""
    if deployment.outcome.ending is None or is_final(deployment.state):
        return deployment
    return ports.deployments.save(finish(ports, deployment, deployment.outcome.ending))

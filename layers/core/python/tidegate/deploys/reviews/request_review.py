"""Request a plan review: store the token that waits for it, and show the buttons.

People may decide before the token exists, and a retried state has a new token. The token is stored before the
deployment is read again, and a decision is written before the token is read, so one of the two sees the other.
"""

from __future__ import annotations

from tidegate.deploys.reviews.settle_review import settle_review
from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import asked_for, review_id
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.messages import RequestReview
from tidegate.plans.rules.plan import Plan
from tidegate.ports import Ports
from tidegate.rules.errors import WrongState


def request_review(ports: Ports, message: RequestReview) -> None:
    """Wait for a review with ``message.token``. Raise WrongState without a plan to review, and DeploymentCancelled.

    A late copy of an earlier attempt, whose token has expired, does nothing.
    """
    deployment = not_cancelled(ports.deployments.get(message.deployment))
    plan = _plan(deployment)
    review = review_id(deployment, plan)
    if not ports.deployments.keep_review_token(deployment.id, review, message.token, message.attempt):
        return
    is_asked_for = deployment.state not in {State.PLANNING, State.GATED}
    if is_asked_for:
        deployment = not_cancelled(ports.deployments.get(message.deployment))
    else:
        deployment = ports.deployments.save(asked_for(deployment, plan, ports.clock.now()))
    if deployment.review is not None and deployment.review.approved is not None:
        settle_review(deployment, ports.deployments, ports.workflows)
    if message.retry or not is_asked_for:  # The first request published it; an earlier attempt may have died.
        ports.event_publisher.changed(deployment)
        ports.event_publisher.queue_changed(deployment.queue)


def _plan(deployment: Deployment) -> Plan:
    reviewable = {State.PLANNING, State.AWAITING_REVIEW, State.APPROVED, State.REJECTED}
    is_open = deployment.gate is not None and deployment.gate.next is AfterGate.REVIEW
    if deployment.planned.plan is None or not (
        deployment.state in reviewable or (deployment.state is State.GATED and is_open)
    ):
        raise WrongState(deployment.id, deployment.state, "a plan review")
    return deployment.planned.plan

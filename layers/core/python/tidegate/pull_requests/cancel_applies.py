"""Cancel unapplied deployments of a pull request that was closed without a merge.

Idempotent. Approved and applying deployments continue.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tidegate.deploys.queue.end_deployment import announce_end
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import QueueHead, Waiting
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.state import State
from tidegate.gates.decide_gate import reject_gate
from tidegate.ports import Ports
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.pull_requests.rules.withdrawal import is_waiting_for_people, may_be_withdrawn, withdrawal
from tidegate.rules.actor import TIDEGATE
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound


def cancel_applies(ports: Ports, record: PullRequestRecord) -> None:
    """Cancel the deployments of ``tidegate apply`` that are not applied yet. Raise Conflict or CloudUnavailable."""
    reason = withdrawal(ports.terms.reference(record.spec.number))
    for each in record.applies:
        deciding_again(partial(_withdraw, ports, each.deployment, reason))
        go_on_withdrawing(ports, each.deployment)


def go_on_withdrawing(ports: Ports, identifier: str) -> bool:
    """Reject a withdrawn deployment that waits for people or dependencies; return whether it did."""
    deployment = _known(ports, identifier)
    if deployment is None or not is_waiting_for_people(deployment):
        return False
    if deployment.state is State.AWAITING_REVIEW:
        decide_review(ports, deployment.id, Answer.REJECT, TIDEGATE, ports.clock.now())
    else:
        reject_gate(ports, deployment.id, TIDEGATE, ports.clock.now())
    return True


def _known(ports: Ports, identifier: str) -> Deployment | None:
    """Return the record; an interrupted apply request may have left none."""
    try:
        return ports.deployments.get(identifier)
    except NotFound:
        return None


def _withdraw(ports: Ports, identifier: str, reason: str) -> None:
    """Remove a deployment from its queue, or record that it ends at its next wait."""
    deployment = _known(ports, identifier)
    if deployment is None or not may_be_withdrawn(deployment):
        return
    at = ports.clock.now()
    withdrawn = replace(deployment, outcome=replace(deployment.outcome, withdrawn=reason), changed_at=at)
    head, line = ports.queues.line(deployment.queue)
    place = next((each for each in line if each.deployment == deployment.id), None)
    if place is None:
        ports.deployments.save(withdrawn)
    else:
        _leave(ports, head, place, withdrawn.moved(State.REFUSED, at, reason))


def _leave(ports: Ports, head: QueueHead, place: Waiting, refused: Deployment) -> None:
    after = ports.queues.commit(head, head, take=place, deployment=refused)
    announce_end(ports, replace(refused, version=refused.version + 1), after)

"""Cancel a deployment that waits, plans or applies. Buttons, comments, pages, the API and the CLI all call this verb.

The caller has checked that the person may cancel. A repeated call is harmless and completes an interrupted one.

A conditional write to the deployment's record decides. *Begin the apply* makes a conditional write to the same record,
so only one of the two succeeds. Everything that waits for the deployment is notified afterwards.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from tidegate.deploys.audit_first import audit_first
from tidegate.deploys.finish import finish
from tidegate.deploys.queue.end_deployment import announce_end
from tidegate.deploys.rules.audit import CANCELLING, audit_message, with_audited
from tidegate.deploys.rules.cancelling import (
    CancelStep,
    answer_given,
    cancelled,
    check_cancelling,
    interrupted,
    is_cancelled,
)
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.dropped import with_dropped
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.state import is_final
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision
from tidegate.rules.errors import DeploymentCancelled, NotFound, TooLate


def cancel_deployment(ports: Ports, deployment: str, by: str, at: datetime, *, is_apply: bool = False) -> Decision:
    """Cancel it for ``by``, who asked at ``at``; an apply only if that is what they mean.

    Raise NotFound. On Conflict or CloudUnavailable, call again.
    """
    return deciding_again(lambda: _cancel(ports, deployment, by, at, is_apply=is_apply))


def go_on_cancelling(ports: Ports, identifier: str) -> bool:
    """Complete the cancellation of a deployment that has not ended. Return whether it was cancelled.

    Raise as ``cancel_deployment``.
    """
    with suppress(NotFound):
        deployment = ports.deployments.get(identifier)
        if is_cancelled(deployment) and not is_final(deployment.state):
            _end(ports, deployment)
            return True
    return False


def _cancel(ports: Ports, identifier: str, by: str, at: datetime, *, is_apply: bool) -> Decision:
    deployment = ports.deployments.get(identifier)
    verdict = check_cancelling(deployment, is_apply=is_apply)
    match verdict.step:
        case CancelStep.REFUSE:
            return Decision(False, verdict.reason)
        case CancelStep.END:
            deployment = ports.deployments.save(cancelled(deployment, by, at))
        case CancelStep.INTERRUPT:
            deployment = ports.deployments.save(_audited(ports, interrupted(deployment, by, at), at))
    ended = _end(ports, deployment) if is_cancelled(deployment) else _interrupt(ports, deployment)
    return Decision(True, answer_given(ended))


def _end(ports: Ports, deployment: Deployment) -> Deployment:
    """End the record, remove the deployment from its queue, and notify everything that waits for it."""
    ending = deployment.outcome.ending
    assert ending is not None  # noqa: S101  # It is cancelled.
    if not is_final(deployment.state):
        deployment = _left(ports, finish(ports, deployment, ending))
    _release(ports, deployment)
    ports.event_publisher.changed(deployment)
    ports.event_publisher.queue_changed(deployment.queue)
    return deployment


def _left(ports: Ports, ended: Deployment) -> Deployment:
    """Save the final record; the same write removes a queued deployment. The worker ends a deployment in flight."""
    head, line = ports.queues.line(ended.queue)
    place = next((each for each in line if each.deployment == ended.id), None)
    if place is None:
        return ports.deployments.save(ended)
    after = ports.queues.commit(head, with_dropped(head, ended), take=place, deployment=ended)
    saved = ports.deployments.get(ended.id)
    announce_end(ports, saved, after)
    return saved


def _release(ports: Ports, deployment: Deployment) -> None:
    """Fail the task tokens that may be waiting: of the runner, which is stopped, of a gate, or of a review."""
    gate, review = deployment.gate, deployment.review
    for job in filter(None, (deployment.planned.job, deployment.apply.job)):
        with suppress(NotFound):  # Job records expire.
            _give_up(ports, job)
    with suppress(NotFound):
        _fail(ports, ports.deployments.gate_token(deployment.id, gate.id) if gate else None)
    with suppress(NotFound):
        _fail(ports, ports.deployments.review_token(deployment.id, review.id) if review else None)
    with suppress(NotFound):
        _fail(ports, ports.plan_slots.token(INSTALLATION, deployment.id))


def _give_up(ports: Ports, job: str) -> None:
    """Close the job, fail the task token that waits for its result, and stop its runner."""
    is_taken = ports.jobs.close(job)
    _fail(ports, ports.jobs.token(job))
    if is_taken:
        _stop(ports, job)


def _fail(ports: Ports, token: str | None) -> None:
    with suppress(TooLate):
        if token:
            ports.workflows.fail(token, DeploymentCancelled.__name__, "The deployment was cancelled.")


def _interrupt(ports: Ports, deployment: Deployment) -> Deployment:
    """Interrupt the runner that has the apply job. If no runner has taken it, close the job: nothing is applied."""
    job = deployment.apply.job or ""
    if ports.jobs.close(job):
        _stop(ports, job)
        ports.event_publisher.changed(deployment)
        return deployment
    by = deployment.outcome.cancelled
    assert by is not None  # noqa: S101  # Whoever comes here has just set it.
    return _end(ports, ports.deployments.save(cancelled(deployment, by.by, by.at)))


def _stop(ports: Ports, job: str) -> None:
    task = ports.jobs.runner(job)
    assert task is not None  # noqa: S101  # Whoever took it said who they are.
    ports.runners.stop(task, f"The job {job} was cancelled.")


def _audited(ports: Ports, deployment: Deployment, at: datetime) -> Deployment:
    message = audit_message(deployment, CANCELLING, at)
    audit_first(ports.audit, message)
    return with_audited(deployment, message)

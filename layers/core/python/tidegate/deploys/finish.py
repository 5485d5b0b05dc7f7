"""End a deployment's record: decide the ending, publish it to the audit topic, and only then make it visible.

A second or repeated call completes the ending that was decided first.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.audit import audit_message, end_word, with_audited
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.ports import Ports
from tidegate.rules.errors import AuditUnavailable, CloudUnavailable, NotFound


def finish(ports: Ports, deployment: Deployment, ending: Ending) -> Deployment:
    """Return the final record, which the caller saves.

    A conditional write fixes the outcome before the audit, so that two writers cannot audit two outcomes. Raise
    Conflict on a concurrent write, CloudUnavailable if the topic does not accept the message: repeat all of it then.
    """
    chosen = deployment.outcome.ending or ending
    word = end_word(deployment, chosen.state, had_begun=_may_have_begun(ports, deployment))
    if word is None:
        return deployment.ended(chosen)
    if deployment.outcome.ending is None:
        deployment = ports.deployments.save(replace(deployment, outcome=replace(deployment.outcome, ending=chosen)))
    return _audited(ports, deployment.ended(chosen), word)


def _may_have_begun(ports: Ports, deployment: Deployment) -> bool:
    """Tell whether the topic may have received that the apply runs: its job is created before that."""
    gate = deployment.gate
    begins = deployment.state is State.APPROVED or (gate is not None and gate.next is AfterGate.APPLY)
    if not begins:
        return deployment.apply.job is not None
    try:
        ports.jobs.get(job_id(deployment.id, JobKind.APPLY, 1))
    except NotFound:
        return False
    return True


def _audited(ports: Ports, ended: Deployment, word: str) -> Deployment:
    message = audit_message(ended, word, ended.changed_at or ended.request.at)
    try:
        ports.audit.publish(message)
    except AuditUnavailable as failure:
        if ended.apply.job is None and ended.state is State.ENGINE_FAULT:
            return ended  # No apply began, as the topic did not answer before either: dependents may continue.
        raise CloudUnavailable("SNS", str(failure)) from failure
    return with_audited(ended, message)

"""Messages of the audit topic: approvals, rejections, cancellations, forced deployments, locks and unlocks.

Also how an apply ended, and webhook events with a person's name that the VCS provider does not confirm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tidegate.changes.rules.wave import Wave, WaveDecision
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.queue import Lock, QueueHead
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Audited
from tidegate.deploys.rules.waiting import Approval
from tidegate.roots.rules.root import QUEUE_SEPARATOR
from tidegate.rules.timestamp import timestamp_from, timestamp_text

#: Version of the message's format: increased when a field changes its meaning or is removed.
AUDIT_VERSION = 1

RUNNING = "RUNNING"
REJECTED = "REJECTED"
FORCED = "FORCED"
OVERRIDDEN = "OVERRIDDEN"
LOCKED = "LOCKED"
UNLOCKED = "UNLOCKED"
CANCELLED = "CANCELLED"
CANCELLING = "CANCELLING"
UNCONFIRMED = "UNCONFIRMED"
STOPPED = "STOPPED"
CONTINUED = "CONTINUED"

#: The word for the end of a deployment whose apply had begun.
_ENDS = {
    State.APPLIED: "SUCCESS",
    State.APPLY_FAILED: "FAILURE",
    State.ENGINE_FAULT: "FAILURE",
    State.OUTCOME_UNKNOWN: "UNKNOWN",
}
#: Words published whether or not an apply had begun.
_ALWAYS = {State.REJECTED: REJECTED, State.CANCELLED: CANCELLED}
#: Words about the deployment, not about its apply.
_OF_THE_WHOLE = frozenset({REJECTED, FORCED, OVERRIDDEN, CANCELLED})
_DIGEST = 32


@dataclass(frozen=True, slots=True)
class AuditMessage:
    """A message for the audit topic.

    ``event`` is the same whenever the same event is published again. Messages of one ``group`` (a deployment,
    or a queue) are delivered in the order in which they were published. Both are at most 128 printable
    ASCII characters. ``body`` is plain data with the fields ``state``, ``repository``, ``root`` and ``version``.
    """

    event: str
    group: str
    body: Mapping[str, Any]

    @property
    def state(self) -> str:
        return str(self.body["state"])


def end_word(deployment: Deployment, state: State, *, had_begun: bool) -> str | None:
    """Return the audit word for ``deployment`` ending in ``state``; None if its end is not audited.

    ``had_begun`` tells whether the topic may have received that the apply runs.
    """
    if state in _ALWAYS:
        return _ALWAYS[state]
    return _ENDS.get(state) if had_begun or deployment.apply.job is not None else None


def audit_message(deployment: Deployment, word: str, at: datetime) -> AuditMessage:
    """Return the message that ``word`` became true of the deployment at ``at``."""
    job = deployment.apply.job or job_id(deployment.id, JobKind.APPLY, 1)
    is_apply = word not in _OF_THE_WHOLE
    event = f"{job if is_apply else deployment.id}:{word}"
    ending, review, plan = deployment.outcome.ending, deployment.review, deployment.planned.plan
    override = deployment.requirements.override
    body = {
        "version": AUDIT_VERSION,
        "event_id": event,
        "id": job if is_apply else deployment.id,
        "state": word,
        "at": timestamp_text(at),
        "deployment": deployment.id,
        "repository": deployment.repository,
        "root": deployment.root.name,
        "dir": deployment.root.dir,
        "workspace": deployment.root.workspace,
        "revision": deployment.revision.sha,
        "branch": deployment.revision.branch,
        "trigger": deployment.request.trigger.value,
        "destroy": deployment.request.destroy is not None,
        "pull_request": deployment.request.pull_request,
        "forced": deployment.request.forced,
        "initiating_user": deployment.request.by,
        "approved_by": review.by if review and review.approved else None,
        "approved_at": _text(review.at) if review and review.approved else None,
        "approvals": [_approval(each) for each in review.approvals] if review else [],
        "approved_here": [_approval(each) for each in deployment.requirements.approved_here],
        "override": {**_by(override.by, override.at), "reason": override.reason} if override else None,
        "missing": list(deployment.requirements.missing),
        "rejected_by": deployment.rejected_by,
        "cancelled_by": deployment.outcome.cancelled.by if deployment.outcome.cancelled else None,
        "plan_sha256": plan.file.sha256 if plan else None,
        "engine": deployment.root.engine.name.value,
        "engine_version": plan.engine_version if plan else None,
        "started": _text(deployment.apply.started_at),
        "ended": _text(ending.at) if ending else None,
        "reason": ending.reason if ending else deployment.reason,
    }
    return AuditMessage(event, deployment.id, body)


def forced_message(deployment: Deployment) -> AuditMessage:
    """Return the message that a deployment was requested without its apply requirements."""
    return audit_message(deployment, FORCED, deployment.request.at)


def lock_message(head: QueueHead, lock: Lock) -> AuditMessage:
    """Return the message that somebody locked the queue by hand."""
    which = _digest(f"{head.queue} {timestamp_text(lock.at)} {lock.by}")
    return _about_lock(head, lock, f"lock-{which}:{LOCKED}", lock.by, lock.at)


def scoped_lock_message(repository: str, lock: Lock, unlocking: Unlocking | None = None) -> AuditMessage:
    """Return the message that a stack or a whole repository was locked, or unlocked by ``unlocking``."""
    which = _digest(f"{repository} {lock.scope} {timestamp_text(lock.at)} {lock.by}")
    head = QueueHead(f"{repository}{QUEUE_SEPARATOR}")
    if unlocking is None:
        return _about_lock(head, lock, f"lock-{which}:{LOCKED}", lock.by, lock.at)
    return _about_lock(head, lock, f"unlock-{which}:{UNLOCKED}", unlocking.by, unlocking.at)


def unlock_message(head: QueueHead, lock: Lock, unlocking: Unlocking) -> AuditMessage:
    """Return the message that ``lock`` was taken off the queue. A lock is taken off once."""
    which = _digest(f"{head.queue} {timestamp_text(lock.at)} {lock.deployment}")
    return _about_lock(head, lock, f"unlock-{which}:{UNLOCKED}", unlocking.by, unlocking.at)


def _about_lock(head: QueueHead, lock: Lock, event: str, by: str, at: datetime) -> AuditMessage:
    body = {
        "version": AUDIT_VERSION,
        "event_id": event,
        "id": lock.deployment or None,
        "state": event.rpartition(":")[2],
        "at": timestamp_text(at),
        "deployment": lock.deployment or None,
        "repository": head.home,
        "root": head.root_name or None,
        "scope": lock.scope or None,
        "revision": lock.revision or None,
        "initiating_user": by,
        "locked_by": lock.by,
        "locked_at": timestamp_text(lock.at),
        "expires_at": _text(lock.expires_at),
        "reason": lock.reason,
    }
    return AuditMessage(event, f"queue-{_digest(head.queue)}", body)


def _approval(approval: Approval) -> dict[str, str]:
    return {**_by(approval.by, approval.at), "reason": approval.reason}


def _by(by: str, at: datetime) -> dict[str, str]:
    return {"by": by, "at": timestamp_text(at)}


def _text(at: datetime | None) -> str | None:
    return timestamp_text(at) if at else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def unconfirmed_message(delivery: str, repository: str, by: str, reason: str, at: datetime) -> AuditMessage:
    """Return the message that a webhook event with a person's name is not confirmed by the VCS provider."""
    event = f"{delivery}:{UNCONFIRMED}"
    body = {
        "version": AUDIT_VERSION,
        "event_id": event,
        "id": delivery,
        "state": UNCONFIRMED,
        "at": timestamp_text(at),
        "deployment": None,
        "repository": repository,
        "root": None,
        "initiating_user": by,
        "reason": reason,
    }
    return AuditMessage(event, delivery, body)


def wave_message(repository: str, wave: Wave, word: str, decision: WaveDecision) -> AuditMessage:
    """Return the message that somebody stopped a stack of a change, or let it continue in spite of failures."""
    which = _digest(f"{wave.change} {wave.stack} {timestamp_text(decision.at)} {decision.by}")
    event = f"wave-{which}:{word}"
    body = {
        "version": AUDIT_VERSION,
        "event_id": event,
        "id": wave.change,
        "state": word,
        "at": timestamp_text(decision.at),
        "deployment": None,
        "repository": repository,
        "root": None,
        "scope": wave.stack,
        "failed": [each.root for each in wave.counted],
        "initiating_user": decision.by,
        "reason": decision.reason,
    }
    return AuditMessage(event, f"wave-{_digest(f'{wave.change} {wave.stack}')}", body)


def with_audited(deployment: Deployment, message: AuditMessage) -> Deployment:
    """Return the record after the topic accepted ``message``."""
    audited = Audited(message.event, message.state, timestamp_from(message.body["at"]))
    return replace(deployment, audited=(*deployment.audited, audited))

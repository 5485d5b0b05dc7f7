"""The audit message of an apply: who approved what, where, and how it ended."""

from __future__ import annotations

from typing import Any

from tidegate.domain.deployment import Deployment, State

#: Version of the message's shape: raised when a field changes its meaning or goes.
AUDIT_VERSION = 1

_STATES = {
    State.APPLYING: "RUNNING",
    State.APPLIED: "SUCCESS",
    State.APPLY_FAILED: "FAILURE",
    State.ENGINE_FAULT: "FAILURE",
    State.OUTCOME_UNKNOWN: "UNKNOWN",
}


def is_audited(deployment: Deployment) -> bool:
    """Tell whether the deployment's state is one that the audit topic hears of: an apply, or its end."""
    return deployment.apply_job is not None and deployment.state in _STATES


def audit_message(deployment: Deployment) -> dict[str, Any]:
    """Return the message for a deployment that ``is_audited``. The same state gives the same ``event_id``."""
    state = _STATES[deployment.state]
    review, plan = deployment.review, deployment.plan
    return {
        "version": AUDIT_VERSION,
        "event_id": f"{deployment.apply_job}:{state}",
        "id": deployment.apply_job,
        "state": state,
        "deployment": deployment.id,
        "repository": deployment.repository,
        "root": deployment.root.name,
        "dir": deployment.root.dir,
        "workspace": deployment.root.workspace,
        "revision": deployment.revision.sha,
        "branch": deployment.revision.branch,
        "trigger": deployment.trigger.value,
        "initiating_user": deployment.requested_by,
        "approved_by": review.by if review else None,
        "approved_at": review.at if review else None,
        "plan_sha256": plan.file.sha256 if plan else None,
        "engine": deployment.root.engine.name.value,
        "engine_version": plan.engine_version if plan else None,
        "started": deployment.apply_started_at,
        "ended": None if deployment.state is State.APPLYING else deployment.changed_at,
        "reason": deployment.reason,
    }

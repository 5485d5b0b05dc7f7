"""What a page says of an action right after it: only what the records show, whatever the URL claims."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING

#: Of actions on a deployment, by the value of ``done`` in the URL.
_ON_DEPLOYMENT = {
    "approve": "Your approval is recorded.",
    "reject": "You rejected this plan.",
    "retried": "The failed deployments run again.",
    "gate-rejected": "You rejected this deployment.",
    "approved-here": "Your approval is recorded.",
    "overridden": "You overrode the requirements. An audit message was sent.",
    "cancelled": "You cancelled this deployment.",
}
#: Of actions on locks.
_ON_LOCKS = {
    "locked": "Locked: merges wait.",
    "unlocked": "The queue is unlocked.",
    "not-locked": "The queue was already unlocked.",
}


def deployment_notice(deployment: Deployment, done: str, login: str) -> str:
    """Return what ``login`` did to the deployment, empty if the record does not show it."""
    review, needs = deployment.review, deployment.requirements
    cancelled = deployment.outcome.cancelled
    did = {
        "approve": review is not None and any(each.by == login for each in review.approvals),
        "reject": review is not None and review.approved is False and review.by == login,
        "retried": deployment.state in WAITING,
        "gate-rejected": deployment.rejected_by == login,
        "approved-here": any(each.by == login for each in needs.approved_here),
        "overridden": needs.override is not None and needs.override.by == login,
        "cancelled": cancelled is not None and cancelled.by == login,
    }
    return _ON_DEPLOYMENT[done] if did.get(done) else ""


def lock_notice(done: str, *, locked: bool) -> str:
    """Return what became of the locks of what a page shows, empty if they are otherwise."""
    return _ON_LOCKS[done] if done in _ON_LOCKS and (done == "locked") == locked else ""

"""What a page says of an action right after it: only what the records show, whatever the URL claims."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.clusters.get_cluster import ClusterView
from tidegate.clusters.rules.overview import ClusterState
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING
from tidegate.drift.get_drift import DriftView
from tidegate.gates.get_change import ChangeView

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
#: Of actions on changes, schedules of drift detection, and clusters.
_ON_CHANGE = {
    "stopped": "You stopped the stack. What has not begun is being rejected.",
    "continued": "You let the stack continue. An audit message was sent.",
}
_ON_DRIFT = {
    "started": "Drift detection started. This page will show the results.",
    "already-running": "Drift detection was already running.",
}
_ON_CLUSTER = {
    "resume": "A new deployment is requested. It resumes where the workflow failed.",
    "release": "What the workflow holds is being given back. The next one starts over.",
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


def change_notice(view: ChangeView, done: str, login: str) -> str:
    """Return what ``login`` did to a stack of the change, empty if the record does not show it."""
    waves = [each.wave for each in view.waves.values()]
    said = {"stopped": [each.stopped for each in waves], "continued": [each.continued for each in waves]}
    return _ON_CHANGE[done] if any(each and each.by == login for each in said.get(done, ())) else ""


def drift_notice(shown: Iterable[DriftView], done: str) -> str:
    """Return what became of a request for drift detection, empty if no schedule runs: it takes a moment to begin."""
    return _ON_DRIFT.get(done, "") if any(each.record.execution for each in shown) else ""


def cluster_notice(view: ClusterView, done: str, *, is_queued: bool) -> str:
    """Return what became of an action on a cluster, empty if its record and its queue do not show it."""
    run = view.record.run
    did = {
        "resume": is_queued or view.state is ClusterState.WORKING,
        "release": run is not None and run.gives_up,
    }
    return _ON_CLUSTER[done] if did.get(done) else ""

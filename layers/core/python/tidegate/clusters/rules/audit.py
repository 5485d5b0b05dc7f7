"""Messages of the audit topic: what operators ask of a cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.clusters.rules.record import ClusterRecord
from tidegate.deploys.rules.audit import AUDIT_VERSION, AuditMessage
from tidegate.rules.access import Action
from tidegate.rules.timestamp import timestamp_text

_DIGEST = 32


class ClusterOperation(StrEnum):
    """What operators do with a cluster, by the API's words."""

    RESUME = "resume"
    RELEASE = "release"

    @property
    def action(self) -> Action:
        """The right of access control that it takes."""
        return _ACTIONS[self]


@dataclass(frozen=True, slots=True)
class OperatedCluster:
    """A cluster, and what somebody wants to do with it."""

    repository: str
    name: str
    operation: ClusterOperation


#: To resume is an apply; to give back what a failed workflow holds is as taking a lock away.
_ACTIONS: Mapping[ClusterOperation, Action] = {
    ClusterOperation.RESUME: Action.APPLY,
    ClusterOperation.RELEASE: Action.UNLOCK,
}
_STATES: Mapping[ClusterOperation, str] = {
    ClusterOperation.RESUME: "CLUSTER_RESUMED",
    ClusterOperation.RELEASE: "CLUSTER_RELEASED",
}


def operator_message(
    operation: ClusterOperation, record: ClusterRecord, by: str, at: datetime, reason: str = ""
) -> AuditMessage:
    """Return the message that somebody does this. Its deployment is that of the cluster's last workflow."""
    repository, name, deployment = record.repository, record.name, record.working.deployment
    event = f"clusters-{_digest(f'{repository} {name} {timestamp_text(at)} {by}')}:{_STATES[operation]}"
    body = {
        "version": AUDIT_VERSION,
        "event_id": event,
        "id": deployment,
        "state": _STATES[operation],
        "at": timestamp_text(at),
        "deployment": deployment,
        "repository": repository,
        "root": name,
        "cluster": name,
        "initiating_user": by,
        "reason": reason,
    }
    return AuditMessage(event, f"clusters-{_digest(f'{repository} {name}')}", body)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]

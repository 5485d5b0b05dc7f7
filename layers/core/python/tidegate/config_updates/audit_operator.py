"""Publish to the audit topic what somebody does with a queue, before it takes effect."""

from __future__ import annotations

from tidegate.config_updates.rules.audit import NOTHING, AuditedAction, Subject, operator_message
from tidegate.config_updates.rules.entry import UpdateEntry
from tidegate.deploys.audit_first import audit_first
from tidegate.ports import Ports


def audit_operator(
    ports: Ports, action: AuditedAction, repository: str, by: str, about: Subject = NOTHING, reason: str = ""
) -> None:
    """Publish it. Raise CloudUnavailable if the topic does not accept it; the caller must then stop."""
    audit_first(ports.audit, operator_message(action, repository, by, ports.clock.now(), about, reason))


def subject_of(entry: UpdateEntry) -> Subject:
    """Return an entry as what something is done to."""
    return Subject(entry.image_set, entry.environment, entry.id)

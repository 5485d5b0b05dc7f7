"""Publish to the audit topic before a change takes effect."""

from __future__ import annotations

from tidegate.deploys.rules.audit import AuditMessage
from tidegate.ports import AuditLog
from tidegate.rules.errors import AuditUnavailable, CloudUnavailable


def audit_first(audit: AuditLog, message: AuditMessage) -> None:
    """Publish the message. Raise CloudUnavailable if the topic does not accept it; the caller must then stop."""
    try:
        audit.publish(message)
    except AuditUnavailable as error:
        raise CloudUnavailable("SNS", str(error)) from error

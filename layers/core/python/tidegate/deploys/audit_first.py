"""Tell the audit topic of something before it is so."""

from __future__ import annotations

from tidegate.deploys.rules.audit import AuditMessage
from tidegate.ports import AuditLog
from tidegate.rules.errors import AuditUnavailable, CloudUnavailable


def audit_first(audit: AuditLog, message: AuditMessage) -> None:
    """Publish the message. Raise CloudUnavailable when the topic does not take it: nothing may follow then."""
    try:
        audit.publish(message)
    except AuditUnavailable as error:
        raise CloudUnavailable("SNS", str(error)) from error

"""Messages of the audit topic: what operators ask of a config repository's queue."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.deploys.rules.audit import AUDIT_VERSION, AuditMessage
from tidegate.rules.timestamp import timestamp_text

_DIGEST = 32


class AuditedAction(StrEnum):
    """What somebody does."""

    PAUSED = "QUEUE_PAUSED"
    RESUMED = "QUEUE_RESUMED"
    HELD = "SET_HELD"
    RELEASED = "SET_RELEASED"
    EVICTED = "ENTRY_EVICTED"
    RETRIED = "ENTRY_RETRIED"
    ROLLED_BACK = "ROLLED_BACK"
    PROMOTED = "PROMOTED"
    TOKEN_MADE = "TARGET_TOKEN_MADE"  # noqa: S105  # No password: an action.


@dataclass(frozen=True, slots=True)
class Subject:
    """What it is done to; what does not apply is empty."""

    image_set: str = ""
    environment: str = ""
    entry: str = ""
    target: str = ""


#: The whole queue.
NOTHING = Subject()


def operator_message(
    action: AuditedAction, repository: str, by: str, at: datetime, about: Subject = NOTHING, reason: str = ""
) -> AuditMessage:
    """Return the message that somebody does this."""
    what = f"{about.image_set} {about.environment} {about.entry} {about.target}"
    which = _digest(f"{repository} {what} {timestamp_text(at)} {by}")
    event = f"updates-{which}:{action}"
    body = {
        "version": AUDIT_VERSION,
        "event_id": event,
        "id": about.entry or None,
        "state": action.value,
        "at": timestamp_text(at),
        "deployment": None,
        "repository": repository,
        "root": None,
        "image_set": about.image_set or None,
        "environment": about.environment or None,
        "target": about.target or None,
        "initiating_user": by,
        "reason": reason,
    }
    return AuditMessage(event, f"updates-{_digest(repository)}", body)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]

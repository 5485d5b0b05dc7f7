"""A notice as a CloudEvent 1.0 in JSON, in structured mode.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md
"""

from __future__ import annotations

import json

from tidegate.notifications.texts.words import Said, headline
from tidegate.rules.timestamp import timestamp_text

CONTENT_TYPE = "application/cloudevents+json"
_FIELDS = ("repository", "subject", "stack", "sha", "branch", "deployment", "state", "by", "reason")


def cloud_event(said: Said, source: str) -> bytes:
    """Return the event. ``source`` identifies the installation."""
    notice = said.notice
    data = {
        "version": 1,
        "kind": notice.kind.value,
        "text": headline(notice),
        **{key: getattr(notice, key) for key in _FIELDS},
        "details": list(notice.details),
        "changes": notice.changes.counts if notice.changes else None,
        "url": said.url,
        **({"plan": said.plan} if said.plan else {}),
    }
    event = {
        "specversion": "1.0",
        "id": notice.id,
        "source": source,
        "type": f"tidegate.{notice.kind}",
        "subject": f"{notice.repository}/{notice.subject}",
        "time": timestamp_text(notice.at),
        "datacontenttype": "application/json",
        "data": data,
    }
    return json.dumps(event).encode()

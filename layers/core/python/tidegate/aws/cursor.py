"""Page cursors of a history, as opaque text for clients."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from hashlib import sha256

from tidegate.rules.errors import NotFound
from tidegate.rules.timestamp import timestamp_from, timestamp_text

#: A cursor has some 150 characters; a longer text is none.
_MAXIMUM = 400
_ID = re.compile(r"[A-Za-z0-9-]{1,80}")


def cursor(history: str, requested_at: datetime, deployment: str) -> str:
    """Return the cursor after ``deployment`` in ``history`` (the name of the list)."""
    place = json.dumps([_mark(history), timestamp_text(requested_at), deployment], separators=(",", ":"))
    return urlsafe_b64encode(place.encode()).decode().rstrip("=")


def place(history: str, after: str) -> tuple[datetime, str]:
    """Return a cursor's time and deployment. Raise NotFound for one that is not of ``history``."""
    found = _read(after) if len(after) <= _MAXIMUM else None
    if found is None or found[0] != _mark(history) or not _ID.fullmatch(found[2]):
        raise NotFound("page", after[:_MAXIMUM])
    return found[1], found[2]


def _read(after: str) -> tuple[str, datetime, str] | None:
    try:
        mark, requested_at, deployment = map(str, json.loads(urlsafe_b64decode(after + "=" * (-len(after) % 4))))
        return mark, timestamp_from(requested_at), deployment
    except (ValueError, TypeError):
        return None


def _mark(history: str) -> str:
    return sha256(history.encode()).hexdigest()[:8]

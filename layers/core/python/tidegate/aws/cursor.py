"""Where a page of a history ends, as an opaque text that goes out to readers and comes back."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

from tidegate.rules.errors import NotFound

#: A cursor is some 150 characters long; what is longer is none.
_MAXIMUM = 400
_TIME = re.compile(r"[0-9T:.+-]{10,40}")
_ID = re.compile(r"[A-Za-z0-9-]{1,80}")


def cursor(history: str, requested_at: str, deployment: str) -> str:
    """Return the place after ``deployment`` in ``history`` (the name of the list)."""
    place = json.dumps([_mark(history), requested_at, deployment], separators=(",", ":"))
    return urlsafe_b64encode(place.encode()).decode().rstrip("=")


def place(history: str, after: str) -> tuple[str, str]:
    """Return what ``cursor`` was made of, time and deployment. Raise NotFound for what is no place in ``history``."""
    found = _read(after) if len(after) <= _MAXIMUM else None
    if found is None or found[0] != _mark(history) or not _TIME.fullmatch(found[1]) or not _ID.fullmatch(found[2]):
        raise NotFound("page", after[:_MAXIMUM])
    return found[1], found[2]


def _read(after: str) -> tuple[str, str, str] | None:
    try:
        mark, requested_at, deployment = map(str, json.loads(urlsafe_b64decode(after + "=" * (-len(after) % 4))))
    except (ValueError, TypeError):
        return None
    return mark, requested_at, deployment


def _mark(history: str) -> str:
    return sha256(history.encode()).hexdigest()[:8]

"""Where a page of a history ends, as an opaque text that goes out to readers and comes back."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

from tidegate.domain.errors import NotFound

#: A cursor is some 150 characters long; what is longer is none.
_MAXIMUM = 400
_TIME = re.compile(r"[0-9T:.+-]{10,40}")
_ID = re.compile(r"[A-Za-z0-9-]{1,80}")


def cursor(history: str, requested_at: str, deployment: str) -> str:
    """Return the place after ``deployment`` in ``history`` (the name of the list)."""
    place = json.dumps([_mark(history), requested_at, deployment], separators=(",", ":"))
    return urlsafe_b64encode(place.encode()).decode().rstrip("=")


def place(history: str, after: str) -> tuple[str, str]:
    """Return what ``cursor`` was made of: time and deployment. Raise NotFound for a text that is none of ``history``."""
    try:
        if len(after) > _MAXIMUM:
            raise ValueError(after)
        mark, requested_at, deployment = json.loads(urlsafe_b64decode(after + "=" * (-len(after) % 4)))
        if mark != _mark(history) or not _TIME.fullmatch(requested_at) or not _ID.fullmatch(deployment):
            raise ValueError(after)
    except (ValueError, TypeError) as error:
        raise NotFound("page", after[:_MAXIMUM]) from error
    return requested_at, deployment


def _mark(history: str) -> str:
    return sha256(history.encode()).hexdigest()[:8]

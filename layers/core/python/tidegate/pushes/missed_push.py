"""Deliveries for missed pushes."""

from __future__ import annotations

import hashlib
from datetime import datetime

from tidegate.ports import Delivery, KnownRepository
from tidegate.rules.timestamp import timestamp_text

#: The kind of these deliveries.
HEAD = "head"


def missed_push(known: KnownRepository, head: str, at: datetime) -> Delivery:
    """Return the delivery, as of ``at``, for what changed from the newest commit that is known to ``head``.

    Its id is the same as long as nothing else is received, so that one head is stored once.
    """
    fields = {
        "repository": known.name,
        "before": known.seen,
        "after": head,
        "branch": known.default_branch,
    }
    known_state = f"{known.name} {known.seen} {timestamp_text(known.seen_at)} {head}"
    return Delivery(f"{HEAD}-{hashlib.sha256(known_state.encode()).hexdigest()[:32]}", HEAD, fields, at)

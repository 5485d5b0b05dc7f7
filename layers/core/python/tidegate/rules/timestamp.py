"""The one form of an instant as text: ISO 8601 in UTC with microseconds and ``+00:00``, so that texts sort by time.

Inside the program an instant is an aware datetime in UTC. It becomes text where it is stored, or sent to another
program, and nowhere else.
"""

from __future__ import annotations

from datetime import UTC, datetime

#: Before every instant that anything has: what is compared where there may be none.
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def timestamp_text(at: datetime) -> str:
    """Return the instant as text. Raise ValueError for a datetime without a zone."""
    return timestamp_from(at).isoformat(timespec="microseconds")


def timestamp_from(value: str | datetime) -> datetime:
    """Return the instant, in UTC, of a text in ISO 8601, or of a datetime as others make it.

    Raise ValueError for another text, and for what has no zone.
    """
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        if at.tzinfo is UTC:
            return at
        if at.utcoffset() is not None:
            return at.astimezone(UTC)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"{value!a} is not a timestamp: write it in ISO 8601 with a time zone") from None
    raise ValueError(f"{value!a} is not a valid timestamp: add a time zone")

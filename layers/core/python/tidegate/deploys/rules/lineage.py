"""How a deployment relates to others of its root."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Lineage:
    """The earlier and later deployments of the same root and stack that decide what this one has to do."""

    #: The newer one for which it gave up waiting at a gate.
    superseded_by: str | None = None
    #: The one that gave up for this one.
    supersedes: str | None = None
    #: The one before it in its queue that came to a bad end and whose revision this one's contains.
    contains: str | None = None
    #: Such that were dropped from the queue.
    carries: tuple[str, ...] = ()
    #: That it does not wait itself for all that one of these waited for.
    look_twice: bool = False
    #: One whose revision contains this one's, applied (or with nothing to change) since.
    contained_by: str | None = None
    #: When that was.
    contained_at: datetime | None = None

"""A deployment's relations to others of its root."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Lineage:
    """The earlier and later deployments of the same root and stack that affect this one."""

    #: The newer one that superseded it at a gate.
    superseded_by: str | None = None
    #: The one that it superseded at a gate.
    supersedes: str | None = None
    #: The earlier failed one in its queue whose revision its own contains.
    contains: str | None = None
    #: Contained merges that were dropped from the queue.
    carries: tuple[str, ...] = ()
    #: Whether it does not itself wait for all dependencies of one of these.
    look_twice: bool = False
    #: A newer one, applied or without changes, whose revision contains its own.
    contained_by: str | None = None
    #: When that was.
    contained_at: datetime | None = None

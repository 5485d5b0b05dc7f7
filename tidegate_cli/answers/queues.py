"""Roots and their deploy queues."""

from __future__ import annotations

from tidegate_cli.answers.answer import Answer
from tidegate_cli.answers.deployments import Brief


class Lock(Answer):
    """Who holds merges back, since when (ISO 8601 in UTC), with which revision, and why."""

    by: str
    at: str
    revision: str
    reason: str
    deployment: str = ""
    expires_at: str | None = None
    scope: str | None = None


class Orphaned(Answer):
    """That a root is gone, and what it made is not: the commit without it, since when, and how many resources."""

    revision: str
    at: str
    resources: int | None = None


class Root(Answer):
    """A root with the state of its queue; ``waiting`` is how many wait, ``last`` the last that was let in and ended."""

    name: str
    stacks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    deployed_revision: str | None = None
    deployed_by: str | None = None
    lock: Lock | None = None
    running: Brief | None = None
    last: Brief | None = None
    waiting: int = 0
    destroyed: bool = False
    orphaned: Orphaned | None = None
    url: str = ""


class Roots(Answer):
    """The roots of a repository."""

    repository: str
    roots: list[Root]
    locks: tuple[Lock, ...] = ()
    hint: str = ""


class Place(Answer):
    """A deployment in line; the first has place 1."""

    place: int
    id: str
    revision: str
    trigger: str
    requested_at: str
    requested_by: str | None = None
    destroy: bool = False
    url: str = ""


class Queue(Answer):
    """A root's queue: what runs, what waits (first first), and what holds it back."""

    repository: str
    root: str
    lock: Lock | None = None
    deployed_revision: str | None = None
    destroyed: bool = False
    running: Brief | None = None
    waiting: tuple[Place, ...] = ()


class Locked(Answer):
    """What came of it, in words."""

    message: str


class Unlocked(Answer):
    """Whether there was a lock to take away, and what came of it, in words."""

    unlocked: bool
    message: str = ""

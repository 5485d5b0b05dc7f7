"""A check run within the VCS provider's limits."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.rules.timestamp import timestamp_text

#: GitHub's limits, in characters (its OpenAPI description).
MAXIMUM_TEXT = 65_535
MAXIMUM_ACTIONS = 3
MAXIMUM_TITLE = 250
MAXIMUM_ANNOTATIONS = 50
#: Annotations of one check run at most: one call takes fifty.
MOST_ANNOTATIONS = 200


class Button(StrEnum):
    """Buttons on a check run: the value is both label and identifier (at most 20 characters)."""

    APPROVE = "Approve"
    REJECT = "Reject"
    RETRY = "Retry"
    UNLOCK = "Unlock"
    CANCEL = "Cancel"
    EVICT = "Evict"
    ROLL_BACK = "Roll back"


class Conclusion(StrEnum):
    """How a completed check run ended, in GitHub's words."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    TIMED_OUT = "timed_out"
    ACTION_REQUIRED = "action_required"


@dataclass(frozen=True, slots=True)
class Action:
    """A button and the sentence shown with it (at most 40 characters)."""

    button: Button
    description: str


class Level(StrEnum):
    """The severity of an annotation, in GitHub's words."""

    NOTICE = "notice"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Annotation:
    """A note on a line of a file of the commit. ``message`` is plain text, ``title`` at most 255 characters of it."""

    path: str
    line: int
    level: Level
    title: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckRun:
    """The content of a check run. ``status`` is queued, in_progress or completed.

    ``summary`` and ``text`` are Markdown of at most 65,535 characters each; ``external_id`` is the
    deployment's id, or empty for one that belongs to a commit only. ``details_url`` is where more is read, such as a
    log, ``page_url`` where it is decided about what it shows, for forges without buttons. ``started_at`` is
    when what it shows began; None while it waits. ``annotations`` are added to those that it has: the forge takes none
    away, and at most ``MAXIMUM_ANNOTATIONS`` in one call.
    """

    name: str
    sha: str
    external_id: str
    status: str
    title: str
    summary: str
    text: str = ""
    conclusion: Conclusion | None = None
    actions: tuple[Action, ...] = ()
    details_url: str | None = None
    page_url: str | None = None
    started_at: datetime | None = None
    annotations: tuple[Annotation, ...] = ()


def annotation_digest(annotation: Annotation) -> str:
    """Return what tells an annotation from others: 12 hexadecimal digits."""
    return hashlib.sha256(repr(annotation).encode(errors="backslashreplace")).hexdigest()[:12]


def digest_of(check_run: CheckRun) -> str:
    """Return the SHA-256, in hexadecimal, of a check run's content."""
    return hashlib.sha256(json.dumps(asdict(check_run), sort_keys=True, default=timestamp_text).encode()).hexdigest()

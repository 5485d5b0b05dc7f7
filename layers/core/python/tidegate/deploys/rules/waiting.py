"""What a deployment waits for between plan and apply: its gate, its review, and its requirements."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Approval:
    """One person's approval of a plan, when, and why, if they said."""

    by: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """The one answer to a plan review. ``id`` is opaque to users.

    ``approvals`` are all approvals so far; ``approved`` is decided once there are as many as the
    deployment's rule asks for, or by one rejection. ``by``, ``at`` and ``reason`` are of the answer that
    decided. ``warned``: people were told that it expires soon.
    """

    id: str
    asked_at: datetime
    approved: bool | None = None
    by: str | None = None
    at: datetime | None = None
    approvals: tuple[Approval, ...] = ()
    warned: bool = False
    reason: str = ""


class AfterGate(StrEnum):
    """The next step after a gate. The values are the Terraform machine's words."""

    PLAN = "plan"
    PLAN_AGAIN = "plan again"
    REVIEW = "review"
    APPLY = "apply"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate that a deployment waits at: its id, and since when.

    ``next`` is the decided next step; ``at`` is when that was, and ``by`` the person who decided, if any, for
    ``reason``. ``cycle`` describes the deadlock for which it must give up, ``wave`` why its stack does not let
    it begin yet.
    """

    id: str
    since: datetime
    next: AfterGate | None = None
    by: str = ""
    at: datetime | None = None
    cycle: str = ""
    wave: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Override:
    """An operator's word that a deployment is applied whatever is missing: who, when, and why."""

    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class RequirementsCheck:
    """The last check of an apply's requirements: what was missing, and who decided about it."""

    #: What was missing, in Markdown.
    missing: tuple[str, ...] = ()
    #: Until when freeze windows block it, and why, in plain text, if nothing else was missing.
    frozen: str = ""
    #: Who approved the deployment itself.
    approved_here: tuple[Approval, ...] = ()
    #: Who overrode the missing requirements.
    override: Override | None = None

"""What a deployment waits for between its plan and its apply: its gate, its review, and its requirements."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Approval:
    """One person's confirmation of a plan, and when."""

    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Review:
    """The one answer to a plan review. ``id`` is opaque to users.

    ``approvals`` are all confirmations so far; ``approved`` is decided once there are as many as the
    deployment's rule asks for, or by one rejection. ``by`` and ``at`` are of the answer that decided.
    """

    id: str
    asked_at: datetime
    approved: bool | None = None
    by: str | None = None
    at: datetime | None = None
    approvals: tuple[Approval, ...] = ()


class AfterGate(StrEnum):
    """What follows from a gate. The values are the Terraform machine's words."""

    PLAN = "plan"
    PLAN_AGAIN = "plan again"
    REVIEW = "review"
    APPLY = "apply"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate that a deployment waits at: its id, and since when.

    ``next`` is what follows, once that is decided; ``at`` is when that was, and ``by`` who, if a person decided.
    ``cycle`` says how it and others wait for each other, so that it must give up for any of them to go on.
    """

    id: str
    since: datetime
    next: AfterGate | None = None
    by: str = ""
    at: datetime | None = None
    cycle: str = ""


@dataclass(frozen=True, slots=True)
class Override:
    """An operator's word that a deployment is applied whatever is missing: who, when, and why."""

    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class RequirementsCheck:
    """What was missing of the requirements of an apply when they were last checked, and who answers for it."""

    #: What was missing, in Markdown.
    missing: tuple[str, ...] = ()
    #: Until when freeze windows hold it back, and why, in plain text, if nothing else was missing.
    frozen: str = ""
    #: Who approved it in the place of others.
    approved_here: tuple[Approval, ...] = ()
    #: Who passed over what is missing.
    override: Override | None = None

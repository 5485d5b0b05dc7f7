"""How a deployment ends, and which people were involved."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.state import State


@dataclass(frozen=True, slots=True)
class Ending:
    """How a deployment ends: decided once, before it is audited and visible."""

    state: State
    reason: str
    error: str
    last_lines: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Cancellation:
    """Who cancelled a deployment, or asked for its apply to be interrupted, and when."""

    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Unlocking:
    """Who took away the lock that a deployment put on its queue, and when."""

    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a deployment ends: decided before it is visible, and what people did about it before and after."""

    ending: Ending | None = None
    #: The last lines of the failed job.
    last_lines: str = ""
    #: Who cancelled it; during the apply and after it, who interrupted the apply.
    cancelled: Cancellation | None = None
    #: Why it must not be applied, because its pull request was closed: it ends at its next wait.
    withdrawn: str = ""
    unlocked: Unlocking | None = None

"""How a deployment ends, and who had a hand in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.state import State


@dataclass(frozen=True, slots=True)
class Ending:
    """How a deployment ends, decided once and for all, before the audit topic hears of it and others see it."""

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
    """How a deployment ends: decided before others see it, and what people did about it meanwhile and after."""

    ending: Ending | None = None
    #: The last lines of the job that failed.
    last_lines: str = ""
    #: Who cancelled it; while it applies, and after that, who interrupted its apply.
    cancelled: Cancellation | None = None
    #: Why it is not to be applied any more, as its pull request was closed: it ends where it waits next.
    withdrawn: str = ""
    unlocked: Unlocking | None = None

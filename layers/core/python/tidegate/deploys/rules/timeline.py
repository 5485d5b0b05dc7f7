"""A deployment's history: each state, and each audited message."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.state import State


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a deployment's timeline: the state it went to, when, by whom, and why."""

    state: State
    at: datetime
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Audited:
    """A message about the deployment that the audit topic took: its event id, its word, and when."""

    event: str
    state: str
    at: datetime

"""Answers to requests about a queue."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.config_updates.rules.entry import UpdateEntry
from tidegate.config_updates.rules.queue import MOST_OPEN, UpdateHead
from tidegate.rules.decision import Decision


@dataclass(frozen=True, slots=True)
class EntryDecision(Decision):
    """Whether it was done, why (not), and the entry that it is about, if there is one."""

    entry: UpdateEntry | None = None


def full_because(head: UpdateHead) -> str:
    """Return that a queue takes no further entry, as a sentence; empty if it takes one."""
    return f"The queue holds {MOST_OPEN} entries, which is the limit." if len(head.open) >= MOST_OPEN else ""

"""Answers to operators' requests about a queue."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.config_updates.rules.entry import UpdateEntry
from tidegate.rules.decision import Decision


@dataclass(frozen=True, slots=True)
class EntryDecision(Decision):
    """Whether it was done, why (not), and the entry that it is about, if there is one."""

    entry: UpdateEntry | None = None

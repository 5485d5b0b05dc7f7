"""Look at drift: what the schedules of repositories found last. Nothing is changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tidegate.domain.drift import DriftRecord
from tidegate.ports import Drifts


@dataclass(frozen=True, slots=True)
class DriftLooker:
    """Looks at drift, with a bounded number of reads."""

    drifts: Drifts

    def look(self, repositories: Collection[str]) -> Sequence[DriftRecord]:
        """Return the schedules of these repositories, by repository; in each those first that need people."""
        keys = [key for key in self.drifts.listed() if key[0] in repositories]
        found = self.drifts.many(keys)
        return sorted(found, key=lambda each: (each.repository, not each.needs_people, each.entry.name))

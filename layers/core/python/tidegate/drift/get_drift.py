"""Read drift: the last results of repositories' schedules. Read-only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegate.config.rules.drift import DriftFinding, DriftRecord
from tidegate.deploys.rules.state import DONE, State
from tidegate.ports import Ports

#: Deployments that are read at most: of further ones, only the ids are known.
_READ = 100


class Undoing(StrEnum):
    """How far a deployment has undone drift. ``absent`` is not queued (yet)."""

    ASKED = "asked"
    ABSENT = "absent"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class DriftView:
    """A schedule, and the states of its findings' deployments, None for a missing one."""

    record: DriftRecord
    states: dict[str, State | None]

    def undoing(self, finding: DriftFinding) -> Undoing | None:
        """Return how far a finding's drift is undone, None if that was not requested."""
        if not finding.deployment:
            return None
        if finding.deployment in self.states and self.states[finding.deployment] is None:
            return Undoing.ABSENT
        return Undoing.UNDONE if self.states.get(finding.deployment) in DONE else Undoing.ASKED


def get_drift(ports: Ports, repositories: Collection[str]) -> Sequence[DriftView]:
    """Return the schedules of these repositories, by repository; in each, those that need people come first."""
    keys = [key for key in ports.drifts.listed() if key[0] in repositories]
    found = ports.drifts.many(keys)
    ordered = sorted(found, key=lambda each: (each.repository, not each.needs_people, each.entry.name))
    named = [each.deployment for record in ordered for each in record.findings if each.deployment][:_READ]
    known = ports.deployments.many(named) if named else {}
    states = {name: known[name].state if name in known else None for name in named}
    return [DriftView(record, states) for record in ordered]

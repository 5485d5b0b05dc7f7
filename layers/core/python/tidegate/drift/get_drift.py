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
#: Schedules of one page.
SCHEDULES = 50


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


@dataclass(frozen=True, slots=True)
class DriftPage:
    """Some schedules, and where to continue (None: there are no more)."""

    views: Sequence[DriftView]
    next: str | None = None


def get_drift(ports: Ports, repositories: Collection[str], limit: int = SCHEDULES, after: str = "") -> DriftPage:
    """Return at most ``limit`` schedules of these repositories, by repository, those beyond ``after``.

    In each repository, those that need people come first.
    """
    keys = sorted(key for key in ports.drifts.listed() if key[0] in repositories)
    keys = [key for key in keys if not after or _place(key) > after]
    shown = keys[:limit]
    following = _place(shown[-1]) if len(keys) > limit else None
    return DriftPage(_views(ports, shown), following)


def _place(key: tuple[str, str]) -> str:
    """Return what continues after a schedule: a text that sorts as they do."""
    return " ".join(key)


def _views(ports: Ports, keys: Collection[tuple[str, str]]) -> Sequence[DriftView]:
    found = ports.drifts.many(keys) if keys else ()
    ordered = sorted(found, key=lambda each: (each.repository, not each.needs_people, each.entry.name))
    named = [each.deployment for record in ordered for each in record.findings if each.deployment][:_READ]
    known = ports.deployments.many(named) if named else {}
    states = {name: known[name].state if name in known else None for name in named}
    return [DriftView(record, states) for record in ordered]

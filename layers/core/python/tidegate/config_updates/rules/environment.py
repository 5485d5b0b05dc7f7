"""What runs in an environment of an image set, what ran there before, and what its targets reported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.config_updates.rules.entry import EntryKind
from tidegate.config_updates.rules.fan_in import TargetReport

#: Earlier image sets of an environment that people can go back to by name.
MOST_LANDED = 20
#: What is remembered as the kind of an image set that a person committed by hand.
BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Landed:
    """An image set on the default branch: since which commit, and by whose wish. ``entry`` is empty if by hand."""

    commit: str
    identity: str
    at: datetime
    by: str
    kind: str = EntryKind.ANNOUNCEMENT.value
    entry: str = ""
    attempt: int = 1
    app_sha: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentState:
    """The image sets of an environment on the default branch, the newest first, and the last report of each target.

    ``complete`` is the identity of the image set that all targets deployed last, since ``complete_at``.
    """

    repository: str
    image_set: str
    name: str
    version: int = 0
    landed: tuple[Landed, ...] = ()
    reports: tuple[TargetReport, ...] = ()
    complete: str = ""
    complete_at: datetime | None = None

    @property
    def newest(self) -> Landed | None:
        """The image set that is on the default branch."""
        return self.landed[0] if self.landed else None

    def with_landed(self, landed: Landed) -> EnvironmentState:
        """Return the state with a newer image set. The same one, landed again, stays what it is."""
        if self.newest is not None and self.newest.identity == landed.identity:
            return self
        return replace(self, landed=(landed, *self.landed)[:MOST_LANDED])

    def with_report(self, report: TargetReport) -> EnvironmentState:
        """Return the state with a target's newest report."""
        others = (each for each in self.reports if each.target != report.target)
        return replace(self, reports=(*others, report))

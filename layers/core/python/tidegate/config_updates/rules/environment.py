"""What runs in an environment of an image set, what ran there before, and what its targets reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.config_updates.rules.entry import EntryKind, UpdateEntry
from tidegate.config_updates.rules.fan_in import Rollout, TargetReport, rollout_of

#: Earlier image sets of an environment that people can go back to by name.
MOST_LANDED = 20
#: What is remembered as the kind of an image set that a person committed by hand.
BY_HAND = "by hand"


class ImageSetStatus(StrEnum):
    """Where an image set is among those that an environment has. ``SUPERSEDED``: a newer one landed after it."""

    NEWEST = "newest"
    SUPERSEDED = "superseded"
    UNKNOWN = "unknown"


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

    def status_of(self, identity: str) -> ImageSetStatus:
        """Return where an image set is: of the same one that landed twice, the newer counts."""
        identities = [each.identity for each in self.landed]
        if identity not in identities:
            return ImageSetStatus.SUPERSEDED if len(identities) == MOST_LANDED else ImageSetStatus.UNKNOWN
        return ImageSetStatus.SUPERSEDED if identities.index(identity) else ImageSetStatus.NEWEST

    @property
    def is_complete(self) -> bool:
        """Whether all targets deployed the image set that is on the default branch."""
        return bool(self.complete) and (self.newest is None or self.newest.identity == self.complete)

    def completed(self, targets: Sequence[str], now: datetime) -> EnvironmentState:
        """Return the state once all targets deployed its image set, with that written down; otherwise the same state.

        Before the first image set landed, it is the one that a target reported last.
        """
        identity = self.newest.identity if self.newest else self.reports[-1].identity if self.reports else ""
        if identity == self.complete:
            return self
        progress = rollout_of(identity, targets, self.reports, now, now, timedelta())
        if progress.rollout is not Rollout.COMPLETE:
            return self
        return replace(self, complete=identity, complete_at=now)

    def with_report(self, report: TargetReport) -> EnvironmentState:
        """Return the state with a target's newest report."""
        others = (each for each in self.reports if each.target != report.target)
        return replace(self, reports=(*others, report))

    def wait_since(self, entries: Mapping[str, UpdateEntry], since: datetime) -> str:
        """Return why it is not ready for what waits for it since then, as a sentence; empty if it is.

        It is ready once all targets deployed what was newest there at ``since``, or anything that landed later, and
        nothing that was in the queue then is still on its way. ``entries`` has, by id, those that are open or landed.
        """
        mine = {name: each for name, each in entries.items() if each.environment_key == (self.image_set, self.name)}
        coming = next((each for each in mine.values() if not each.is_ended and each.requested_at <= since), None)
        if coming is not None:
            return f"{coming.app_sha[:10] or coming.source_sha[:10]} is on its way there."
        if not self.landed:
            return "No image set has landed there yet."
        asked = [mine[each.entry].requested_at if each.entry in mine else each.at for each in self.landed]
        newest = next((number for number, at in enumerate(asked) if at <= since), len(asked) - 1)
        if self.complete in {each.identity for each in self.landed[: newest + 1]}:
            return ""
        return "Not all of its targets have deployed its newest image set."

"""What becomes of an announcement: of images that CI has built of a commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.config.rules.config_updates import DeclaredImageSet
from tidegate.config_updates.rules.answers import full_because
from tidegate.config_updates.rules.entry import RETRIABLE, EntryKind, UpdateEntry, entry_id
from tidegate.config_updates.rules.image_set import ImageSet
from tidegate.config_updates.rules.queue import UpdateHead, waits_for


class Announced(StrEnum):
    """What became of it. ``DUPLICATE``: it was accepted before. ``MISMATCH``: with other images."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    MISMATCH = "payload_mismatch"
    SUPERSEDED = "superseded"
    FULL = "queue_full"


@dataclass(frozen=True, slots=True)
class Announcement:
    """Images of a commit. ``sequence`` orders those of a set, ``by`` is whose CI run it was, at ``run_url``."""

    repository: str
    images: ImageSet
    sequence: int
    by: str
    run_url: str = ""

    def entry(self, image_set: DeclaredImageSet, now: datetime) -> UpdateEntry:
        """Return the entry that it asks for, in the set's first environment."""
        return UpdateEntry(
            id=entry_id(EntryKind.ANNOUNCEMENT, self.repository, image_set.name, self.images.app_sha),
            repository=self.repository,
            image_set=image_set.name,
            environment=image_set.environments[0].name,
            kind=EntryKind.ANNOUNCEMENT,
            requested_at=now,
            by=self.by,
            app_sha=self.images.app_sha,
            sequence=self.sequence,
            images=self.images.digest,
            run_url=self.run_url,
        )


@dataclass(frozen=True, slots=True)
class AnnouncementDecision:
    """What became of an announcement and why, and its entry, which exists unless it was refused."""

    result: Announced
    reason: str
    entry: UpdateEntry


def decide_announcement(head: UpdateHead, known: UpdateEntry | None, entry: UpdateEntry) -> AnnouncementDecision:
    """Return what becomes of an announcement that asks for ``entry``; ``known`` is what is stored of it."""
    if known is not None:
        return _again(known, entry)
    newest = head.set_state(entry.image_set).sequence
    if entry.sequence < newest:
        reason = (
            f"The sequence {entry.sequence} is older than {newest}, the newest one of {entry.image_set}. Nothing was "
            f"changed. If this build is newer, announce it with a sequence above {newest}: run numbers begin anew when "
            "a workflow is renamed."
        )
        return AnnouncementDecision(Announced.SUPERSEDED, reason, entry)
    if full := full_because(head):
        return AnnouncementDecision(Announced.FULL, f"{full} Announce it again once some have landed.", entry)
    return AnnouncementDecision(Announced.ACCEPTED, f"It is in the queue. {waits_for(head, entry)}".rstrip(), entry)


def _again(known: UpdateEntry, entry: UpdateEntry) -> AnnouncementDecision:
    if known.images != entry.images:
        reason = (
            f"{known.app_sha} of {known.image_set} was announced with other images before. Nothing was changed. "
            "Announce them as those of a new commit."
        )
        return AnnouncementDecision(Announced.MISMATCH, reason, known)
    again = f" To try it again: tidegate updates retry {known.repository} {known.id}"
    more = again if known.state in RETRIABLE else ""
    return AnnouncementDecision(
        Announced.DUPLICATE, f"It was announced before, and is {known.state.value}.{more}", known
    )

"""Announce images that CI has built of a commit: they enter the queue, for the first environment of their set."""

from __future__ import annotations

from typing import Any

from tidegate.config.rules.config_updates import DeclaredImageSet
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.announcing import (
    Announced,
    Announcement,
    AnnouncementDecision,
    decide_announcement,
)
from tidegate.config_updates.rules.image_set import read_image_set
from tidegate.config_updates.rules.queue import with_entry
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again

#: What leaves work to do, also for who repeats an announcement whose answer was lost.
_STORED = frozenset({Announced.ACCEPTED, Announced.DUPLICATE})


def announce_images(
    ports: Ports,
    repository: str,
    image_set: str,
    app_sha: str,
    body: Any,
    *,
    sequence: int,
    by: str,
    run_url: str = "",
) -> AnnouncementDecision:
    """Store an announcement, and wake the queue's worker. A paused queue or a held set stores it as well.

    ``body`` is the map from service to its images. A repeated call is harmless. Raise InvalidImageSet, UnknownImageSet,
    and what ``current_updates`` raises. On Conflict or CloudUnavailable, call again.
    """
    declared = current_updates(ports, repository).image_set(image_set)
    announcement = Announcement(repository, read_image_set(app_sha, body), sequence, by, run_url)
    decision = deciding_again(lambda: _announce(ports, declared, announcement))
    if decision.result in _STORED:
        wake_worker(ports, repository)
    return decision


def _announce(ports: Ports, declared: DeclaredImageSet, announcement: Announcement) -> AnnouncementDecision:
    head = ports.config_updates.head(announcement.repository)
    entry = announcement.entry(declared, ports.clock.now())
    known = ports.config_updates.entries(announcement.repository, [entry.id]).get(entry.id)
    decision = decide_announcement(head, known, entry)
    if decision.result is Announced.ACCEPTED:
        ports.artifacts.put(entry.images_key, announcement.images.text.encode())
        ports.config_updates.commit(head, with_entry(head, entry), [entry])
    return decision

"""Begin a replay: store what is to be made, and create the job that a runner claims.

A repeated call changes nothing and returns the same.
"""

from __future__ import annotations

from datetime import timedelta

from tidegate.config.rules.config_updates import ConfigUpdates
from tidegate.config_updates.read_configuration import load_updates
from tidegate.config_updates.rules.entry import EntryKind, UpdateEntry
from tidegate.config_updates.rules.queue import Replaying, works_here
from tidegate.config_updates.rules.replay import Entry, Replay
from tidegate.config_updates.rules.trailers import REASONS, Trailers, is_actor
from tidegate.deploys.rules.job import replay_job
from tidegate.deploys.rules.runner_size import size_of
from tidegate.messages import JobBegun
from tidegate.messages.config_updates import BeginReplay, ReplayBegun
from tidegate.ports import Ports

_REASONS = dict(zip(EntryKind, REASONS, strict=True))


def begin_replay(ports: Ports, message: BeginReplay) -> ReplayBegun:
    """Create the job of the replay that the claim decided. Raise ForgeUnavailable and CloudUnavailable: call again."""
    head = ports.config_updates.head(message.repository)
    replaying = head.replaying
    if replaying is None or not works_here(head, message.execution) or not replaying.entries:
        return ReplayBegun(commands=False)
    updates = load_updates(ports, message.repository, replaying.default)
    order = _order(ports, message.repository, replaying, updates)
    artifact = ports.replays.keep_order(replaying.job, order)
    url, size = ports.addresses.clone_url(message.repository), size_of(None, ports.runner_offer)
    job = replay_job(replaying.job, message.repository, replaying.base, url, artifact, size)
    ports.jobs.create(job)
    begun = JobBegun.of(job)
    return ReplayBegun(commands=True, job=begun.job, digest=begun.digest, size=begun.size)


def _order(ports: Ports, repository: str, replaying: Replaying, updates: ConfigUpdates) -> Replay:
    entries = ports.config_updates.entries(repository, replaying.entries)
    made = tuple(_entry(ports, entries[each], updates) for each in replaying.entries)
    return Replay(replaying.base, made, updates.commands)


def _entry(ports: Ports, entry: UpdateEntry, updates: ConfigUpdates) -> Entry:
    file = _file(updates, entry.image_set, entry.environment)
    trailers = trailers_of(entry)
    # A retry is another commit: what CI said of the one before does not count for it.
    authored = entry.requested_at + timedelta(seconds=entry.attempt - 1)
    if entry.kind is EntryKind.ANNOUNCEMENT:
        images = ports.artifacts.get(entry.images_key).decode()
        return Entry(trailers, authored, file, images=images)
    return Entry(trailers, authored, file, copied=_file(updates, entry.image_set, entry.source_environment))


def _file(updates: ConfigUpdates, image_set: str, name: str) -> str:
    environment = updates.environment(image_set, name)
    return environment.file if environment else ""


def trailers_of(entry: UpdateEntry) -> Trailers:
    """Return what the commit of an entry says of it."""
    return Trailers(
        entry.id,
        entry.image_set,
        entry.environment,
        _REASONS[entry.kind],
        entry.app_sha,
        str(entry.sequence) if entry.sequence else "",
        entry.source_sha,
        entry.by if is_actor(entry.by) else "",
    )

"""An entry of a config repository's queue: an image set, a promotion or a rollback, from its request to its end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.config_updates.rules.approvals import EntryApproval
from tidegate.deploys.rules.waiting import Override

#: Characters of an entry's id: 130 bits, in letters and digits that commits may carry as a trailer.
_ID_LENGTH = 26
_ALPHABET = "0123456789abcdefghijklmnopqrstuv"


class EntryKind(StrEnum):
    """Why an entry exists."""

    ANNOUNCEMENT = "announcement"
    PROMOTION = "promotion"
    ROLLBACK = "rollback"


class EntryState(StrEnum):
    """How far an entry is. ``QUEUED`` until its commit is on the auto branch, ``TESTING`` from then on.

    ``NOOP``: the environment has these images already. ``FAILED``: a command of the repository's failed.
    """

    QUEUED = "queued"
    TESTING = "testing"
    LANDED = "landed"
    EVICTED = "evicted"
    SUPERSEDED = "superseded"
    NOOP = "noop"
    FAILED = "failed"


#: An entry in one of these states is no longer in the queue.
ENDED = frozenset(EntryState) - {EntryState.QUEUED, EntryState.TESTING}
#: From these, ``retry`` puts an entry into the queue again.
RETRIABLE = frozenset({EntryState.EVICTED, EntryState.FAILED})


@dataclass(frozen=True, slots=True)
class UpdateEntry:
    """What somebody asked for, and what became of it.

    ``id`` stays when its commit is replayed. ``by`` is a login, or whose CI announced it; ``sequence`` orders the
    announcements of a set. ``images`` is the digest of the announced image set, whose text ``images_key`` stores.
    ``source_sha`` and ``source_environment`` are what a promotion or rollback copies. ``attempt`` counts retries.
    ``commit`` is the last commit that was made for it, ``covered`` tells that it landed below one that passed although
    it had failed itself. ``identity`` is that of the file that the commit holds. ``waits_for`` says which freeze window
    or missing approvals keep it in the queue; ``override`` is an operator's word that it goes on nevertheless.
    """

    id: str
    repository: str
    image_set: str
    environment: str
    kind: EntryKind
    requested_at: datetime
    by: str
    app_sha: str = ""
    sequence: int = 0
    images: str = ""
    run_url: str = ""
    source_sha: str = ""
    source_environment: str = ""
    attempt: int = 1
    state: EntryState = EntryState.QUEUED
    reason: str = ""
    commit: str = ""
    identity: str = ""
    covered: bool = False
    ended_at: datetime | None = None
    approvals: tuple[EntryApproval, ...] = ()
    override: Override | None = None
    waits_for: str = ""

    @property
    def is_ended(self) -> bool:
        """Whether it has left the queue."""
        return self.state in ENDED

    @property
    def images_key(self) -> str:
        """Where the announced image set is stored in the artifact bucket: by its digest, so that none replaces it."""
        return f"config-updates/{self.id}/{self.images}.json"

    @property
    def environment_key(self) -> tuple[str, str]:
        """The image set and the environment."""
        return self.image_set, self.environment


def newer_of(entry: UpdateEntry, others: Iterable[UpdateEntry]) -> UpdateEntry | None:
    """Return one of others that is a newer announcement for the same place: to retry the entry would undo it."""
    newer = (each for each in others if each.sequence > entry.sequence)
    return next((each for each in newer if each.environment_key == entry.environment_key), None)


def entry_id(kind: EntryKind, repository: str, *what: str) -> str:
    """Return the id of what is asked for: the same request has the same id, so it enters once however often it comes.

    ``what`` is, for an announcement, the set and the application's commit; for others, what makes them one request.
    """
    number = int.from_bytes(hashlib.sha256("\0".join((kind, repository, *what)).encode()).digest(), "big")
    return "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in range(_ID_LENGTH))

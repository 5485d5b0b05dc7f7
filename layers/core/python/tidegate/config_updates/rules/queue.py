"""The queue of a config repository: what is on the auto branch, what waits, and who works on it.

The head is one item with a version, as that of a deploy queue: every accepted change raises the version, and the worker
waits or closes only at the version on which it decided. So no wake-up is lost, and only one worker moves branches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry
from tidegate.config_updates.rules.verdicts import Verdict
from tidegate.deploys.rules.locking import LONGEST_REASON
from tidegate.deploys.rules.queue import Worker
from tidegate.roots.rules.root import worker_name

#: Entries that a queue holds: CI would need days for more, and the head is one item of at most 400 KB.
MOST_OPEN = 300
#: Rounds after which a worker continues as new. One that replays takes some 300 of the 25,000 events of an execution.
MOST_ROUNDS = 60
#: How long a worker without work waits for more, as that of a deploy queue.
IDLE = timedelta(hours=1)
#: How often it asks the VCS provider again while checks run, in case a webhook is lost.
READ_AGAIN = timedelta(minutes=10)
#: The wait after the first refusal to move a branch, or the first failed replay; each further one doubles it, up to
#: ``READ_AGAIN``.
_FIRST_REFUSAL = timedelta(seconds=5)
_MOST_REFUSALS = 10
#: Replays in a row without a landing, because people moved the default branch meanwhile, from which on it is counted.
OUTRUN_OFTEN = 3
#: Earlier commits of an entry that are remembered, for people.
MOST_PAST = 10
#: Characters that the head keeps of what keeps its worker waiting.
_LONGEST_PROBLEM = 2000


class ReplayReason(StrEnum):
    """Why the auto branch is rebuilt. The values are the machine's words."""

    ALIGN = "align"
    APPLY = "apply"
    EVICT = "evict"


@dataclass(frozen=True, slots=True)
class RequestedAgain:
    """A required check of a commit that ended without a result and was requested again, as in ``Retried``."""

    name: str
    source: str
    number: int
    at: datetime
    accepted: bool = True


@dataclass(frozen=True, slots=True)
class JudgedCheck:
    """What a required check said of a commit when it was last read."""

    name: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class OnAuto:
    """An entry whose commit is on the auto branch. ``past`` are its earlier commits, the newest first.

    ``pushed`` tells that CI knows the commit: it was the end of a push, or a check has reported about it.
    ``verdict``, ``note`` and ``checks`` are what its required checks said when they were last read.
    """

    entry: str
    sha: str
    pushed_at: datetime
    past: tuple[str, ...] = ()
    verdict: Verdict = Verdict.NONE
    note: str = ""
    checks: tuple[JudgedCheck, ...] = ()
    again: tuple[RequestedAgain, ...] = ()
    pushed: bool = True


@dataclass(frozen=True, slots=True)
class Replaying:
    """A replay in progress: its job, why, on which commit of the default branch, and where the auto branch must be.

    ``upon`` are the entries that stay as they are on the auto branch, ``entries`` those that are made, from the lowest;
    ``evicted`` and ``superseded`` are left out. ``result`` is the SHA-256 of the stored result, as its own runner told
    it; it is kept before the branch moves, so that a worker that goes on after a crash believes no other one.
    """

    job: str
    why: ReplayReason
    default: str
    base: str
    auto: str
    entries: tuple[str, ...]
    upon: tuple[str, ...] = ()
    evicted: str = ""
    superseded: tuple[str, ...] = ()
    result: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """Who paused the queue, when and why. Entries are accepted, and nothing moves."""

    by: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Hold:
    """Who holds an image set and why: its entries wait, but for rollbacks."""

    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Eviction:
    """Who wants an entry out of the queue that is on the auto branch, or about to be."""

    entry: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SetState:
    """An image set: the newest sequence that was accepted, and its hold."""

    name: str
    sequence: int = 0
    hold: Hold | None = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why the worker cannot go on, as sentences, and when it tries again.

    ``by_person`` tells that somebody has to mend it: then the worker tries sooner too, whenever something wakes it.
    """

    reason: str
    until: datetime
    by_person: bool = False


def blocked(reason: str, until: datetime, *, by_person: bool = False) -> Blocked:
    """Return it with a reason that the head has room for, whatever a program or the VCS provider said."""
    return Blocked(reason[:_LONGEST_PROBLEM], until, by_person)


def one_reason(text: str) -> str:
    """Return a person's reason for a pause or a hold: one line that the head has room for."""
    return " ".join(text.split())[:LONGEST_REASON]


@dataclass(frozen=True, slots=True)
class UpdateHead:
    """The head of a config repository's queue.

    ``stack`` is what is on the auto branch above ``base``, a commit of the default branch, from the lowest; ``auto`` is
    the commit to which Tidegate moved the branch last, empty before. ``waiting`` are the entries without a commit, in
    their order. ``asked`` tells that something may have happened that the worker has not seen. ``changed`` are entries
    whose news are not published yet. ``token`` is that of a worker that waits. ``evictions`` are carried out by its
    next replays. ``refusals`` counts how often in a row the VCS provider has refused to move a branch, or a replay has
    failed, ``outrun`` how often the entries on the auto branch were rebuilt since the last landing, because the
    default branch had moved.
    """

    repository: str
    version: int = 0
    generation: int = 0
    worker: Worker | None = None
    token: str | None = None
    asked: bool = False
    default_branch: str = ""
    auto_branch: str = ""
    base: str = ""
    auto: str = ""
    stack: tuple[OnAuto, ...] = ()
    waiting: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    sets: tuple[SetState, ...] = ()
    replaying: Replaying | None = None
    pause: Pause | None = None
    blocked: Blocked | None = None
    evictions: tuple[Eviction, ...] = ()
    refusals: int = 0
    outrun: int = 0

    @property
    def open(self) -> tuple[str, ...]:
        """All entries in the queue, the lowest first."""
        return (*(each.entry for each in self.stack), *self.waiting)

    @property
    def has_work(self) -> bool:
        """Whether a worker is needed."""
        return bool(self.stack or self.waiting or self.asked or self.replaying or self.changed)

    def set_state(self, name: str) -> SetState:
        """Return what is known of an image set."""
        return next((each for each in self.sets if each.name == name), SetState(name))

    def with_set(self, state: SetState) -> UpdateHead:
        """Return the head with this state of an image set."""
        others = (each for each in self.sets if each.name != state.name)
        return replace(self, sets=(*others, state))

    def about(self, *entries: str) -> UpdateHead:
        """Return the head with news of these entries to publish."""
        return replace(self, changed=tuple(dict.fromkeys((*self.changed, *entries))))


def works_here(head: UpdateHead, execution: str) -> bool:
    """Tell whether ``execution`` is the queue's worker."""
    return head.worker is not None and head.worker.execution == execution


def next_worker(head: UpdateHead) -> Worker:
    """Return the worker of the next generation, with a new execution name."""
    generation = head.generation + 1
    return Worker(worker_name(f"{head.repository}||config-updates", generation), generation)


def eviction_reason(eviction: Eviction) -> str:
    """Return why an entry has left the queue, as a sentence."""
    return f"{eviction.by} evicted it."


def refused(head: UpdateHead, reason: str, now: datetime) -> UpdateHead:
    """Return the head after the VCS provider refused to move a branch, which it may do for a moment.

    Branch protection learns of a passed check after some seconds (bors-ng#866), so the first waits are short.
    """
    return tried_again(head, f"The VCS provider refuses to move the branch: {reason}", now)


def tried_again(head: UpdateHead, reason: str, now: datetime) -> UpdateHead:
    """Return the head without the replay, blocked for some seconds at first, and each further time twice as long.

    A runner whose machine was taken away is replaced soon, and one that always fails does not run all the time.
    """
    wait = min(_FIRST_REFUSAL * 2**head.refusals, READ_AGAIN)
    problem = blocked(reason, now + wait)
    return replace(head, replaying=None, blocked=problem, refusals=min(head.refusals + 1, _MOST_REFUSALS))


def landed_with(head: UpdateHead, sha: str) -> UpdateHead:
    """Return the head once the default branch is at the commit ``sha`` of the stack: it and all below it are landed."""
    at = next(number for number, each in enumerate(head.stack) if each.sha == sha)
    landed = [each.entry for each in head.stack[: at + 1]]
    return replace(head, base=sha, stack=head.stack[at + 1 :], outrun=0).about(*landed)


def ended(entry: UpdateEntry, state: EntryState, reason: str, now: datetime) -> UpdateEntry:
    """Return an entry that leaves the queue."""
    return replace(entry, state=state, reason=reason, ended_at=now)


def without(head: UpdateHead, entries: Collection[str]) -> UpdateHead:
    """Return the head without waiting entries."""
    return replace(head, waiting=tuple(each for each in head.waiting if each not in entries)).about(*entries)


def close_evicted(
    head: UpdateHead, entries: Mapping[str, UpdateEntry], now: datetime
) -> tuple[UpdateHead, list[UpdateEntry]]:
    """Return the head without the waiting entries that somebody evicted during a replay, and these, ended.

    Call it while no replay is in progress.
    """
    found = {each.entry: each for each in head.evictions if each.entry in head.waiting}
    closed = [ended(entries[each], EntryState.EVICTED, eviction_reason(found[each]), now) for each in found]
    left = tuple(each for each in head.evictions if each.entry not in found)
    return replace(without(head, found), evictions=left), closed


def waits_for(head: UpdateHead, entry: UpdateEntry) -> str:
    """Return why an entry waits although its turn may come, as a sentence; empty if nothing keeps it."""
    hold = head.set_state(entry.image_set).hold
    if head.pause is not None:
        return f"It waits until somebody resumes the queue, which {head.pause.by} has paused."
    if hold is not None and entry.kind is not EntryKind.ROLLBACK:
        return f"It waits until somebody releases {entry.image_set}, which {hold.by} holds: {hold.reason}"
    return entry.waits_for


def with_entry(head: UpdateHead, entry: UpdateEntry) -> UpdateHead:
    """Return the head with a new entry at the end of the queue, and news for its worker."""
    state = head.set_state(entry.image_set)
    newest = replace(state, sequence=max(state.sequence, entry.sequence))
    added = replace(head, waiting=(*head.waiting, entry.id), asked=True)
    return (added.with_set(newest) if newest != state else added).about(entry.id)


def with_hold(head: UpdateHead, image_set: str, hold: Hold | None) -> UpdateHead:
    """Return the head with this hold of a set; None ends it."""
    return head.with_set(replace(head.set_state(image_set), hold=hold))

"""The queue of a config repository: what is on the auto branch, what waits, and what its worker does next.

The head is one item with a version, as that of a deploy queue: every accepted change raises the version, and the worker
waits or closes only at the version on which it decided. So no wake-up is lost, and only one worker moves branches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from tidegate.config.rules.config_updates import ConfigUpdates, RequiredCheck, Supersede, Timeouts
from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry
from tidegate.config_updates.rules.landing import Landing, Move, Stacked, decide_landing
from tidegate.config_updates.rules.verdicts import CommitVerdict, Verdict
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
#: Bytes of the head for what is on the auto branch: the rest of DynamoDB's 400 KB is for 300 ids, news and reasons.
_ROOM = 340_000
#: Bytes of an entry on the auto branch, and of one of its checks besides its name, which is kept three times.
_OF_ENTRY, _OF_CHECK, _NAMES = 700, 200, 3


class Why(StrEnum):
    """Why the auto branch is made anew. The values are the machine's words."""

    ALIGN = "align"
    APPLY = "apply"
    EVICT = "evict"


_MISFITS = {
    Why.ALIGN: "The auto branch does not follow the default branch.",
    Why.APPLY: "What a hold or a freeze window covers leaves the auto branch.",
}


class UpdateStep(StrEnum):
    """What the worker does next. The values are the machine's words."""

    ALIGN = "align"
    APPLY = "apply"
    EVICT = "evict"
    LAND = "land"
    WAIT = "wait"
    HAND_OVER = "hand over"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class RequestedAgain:
    """A required check of a commit that ended without a result and was requested again."""

    name: str
    source: str
    number: int
    at: datetime


@dataclass(frozen=True, slots=True)
class JudgedCheck:
    """What a required check said of a commit when it was last read."""

    name: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class OnAuto:
    """An entry whose commit is on the auto branch. ``past`` are its earlier commits, the newest first.

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


@dataclass(frozen=True, slots=True)
class Replaying:
    """A replay in progress: its job, why, on which commit of the default branch, and where the auto branch must be.

    ``upon`` are the entries that stay as they are on the auto branch, ``entries`` those that are made, from the lowest;
    ``evicted`` and ``superseded`` are left out.
    """

    job: str
    why: Why
    default: str
    base: str
    auto: str
    entries: tuple[str, ...]
    upon: tuple[str, ...] = ()
    evicted: str = ""
    superseded: tuple[str, ...] = ()


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

    ``by_person`` tells that somebody has to mend it: then the worker looks sooner too, whenever something wakes it.
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
    failed, ``outrun`` how often the entries on the auto branch were made anew since the last landing, because the
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


@dataclass(frozen=True, slots=True)
class Refs:
    """Where the branches are at the VCS provider. ``auto`` is empty if there is no such branch."""

    default: str
    auto: str


@dataclass(frozen=True, slots=True)
class Observed:
    """What a decision rests on: the branches, the default branch's configuration, the open entries by id, the verdicts
    of the stacked commits by entry, the time, and a new id for a job.

    ``kept`` are the entries that a freeze window or missing approvals keep off the auto branch, ``until`` is when the
    first of these windows ends.
    """

    refs: Refs
    updates: ConfigUpdates
    entries: Mapping[str, UpdateEntry]
    verdicts: Mapping[str, CommitVerdict]
    now: datetime
    job: str
    kept: frozenset[str] = frozenset()
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class NextMove:
    """The worker's next step and why. ``head`` is the queue with it, not stored yet; ``wait`` is how long it waits."""

    step: UpdateStep
    reason: str
    head: UpdateHead
    land: OnAuto | None = None
    covered: tuple[str, ...] = ()
    wait: timedelta = IDLE


def decide_move(head: UpdateHead, seen: Observed) -> NextMove:
    """Return the next step of the queue's worker. The head knows of the landed entries already."""
    if stopped := _stopped(head, seen):
        return stopped
    head = _marked(_judged(head, seen.verdicts))
    landing, evicted = _landing(head, seen.updates), _evicted_by_hand(head)
    if (why := _misfit(head, seen)) is not None:
        return _replay(head, seen, why, _MISFITS[why], evicted)
    if landing.move is Move.LAND:
        land = next(each for each in head.stack if each.entry == landing.entry)
        return NextMove(UpdateStep.LAND, landing.reason, head, land=land, covered=landing.covered)
    if landing.move is Move.EVICT:
        return _replay(head, seen, Why.EVICT, landing.reason, landing.entry)
    if _entering(head, seen) or superseded(head, seen.updates, seen.entries):
        return _replay(head, seen, Why.APPLY, "Image sets wait.")
    wait = _wait(head, seen.updates.check_timeouts, seen.now)
    if seen.until is not None:
        wait = min(wait, max(seen.until - seen.now, timedelta(seconds=1)))
    return NextMove(UpdateStep.WAIT, landing.reason, head, wait=wait)


def _misfit(head: UpdateHead, seen: Observed) -> Why | None:
    """Return why the auto branch cannot stay as it is, whatever the checks say; None if it can."""
    if seen.refs.default != head.base or seen.refs.auto != head.auto or not seen.refs.auto:
        return Why.ALIGN
    return Why.APPLY if any(_is_kept(head, seen, each.entry) for each in head.stack) else None


def _stopped(head: UpdateHead, seen: Observed) -> NextMove | None:
    """Return the wait while the auto branch is not ours to move, or somebody has paused the queue; otherwise None."""
    if problem := _foreign(head, seen.refs):
        waiting = replace(head, blocked=blocked(problem, seen.now + READ_AGAIN, by_person=True))
        return NextMove(UpdateStep.WAIT, problem, waiting, wait=READ_AGAIN)
    if head.pause is not None:
        return NextMove(UpdateStep.WAIT, f"{head.pause.by} has paused the queue.", head)
    return None


def _foreign(head: UpdateHead, refs: Refs) -> str:
    """Return why the auto branch is not ours to move: somebody else's commits are on it. A deleted one is made anew."""
    if not refs.auto or refs.auto in {head.auto, head.base, refs.default}:
        return ""
    return (
        f"The branch {head.auto_branch} is at {refs.auto[:12]}, which Tidegate did not push. Save what you need of it, "
        f"then delete the branch: Tidegate makes it anew."
    )


def _judged(head: UpdateHead, verdicts: Mapping[str, CommitVerdict]) -> UpdateHead:
    """Return the head with what the checks say now, and news of the entries of which they say something else."""
    stack = tuple(_with_verdict(each, verdicts[each.entry]) if each.entry in verdicts else each for each in head.stack)
    news = [new.entry for old, new in zip(head.stack, stack, strict=True) if old.checks != new.checks]
    return replace(head, stack=stack).about(*news)


def _with_verdict(one: OnAuto, judged: CommitVerdict) -> OnAuto:
    checks = tuple(JudgedCheck(each.check.name, each.verdict, each.reason) for each in judged.checks)
    return replace(one, verdict=judged.verdict, note=judged.reason, checks=checks)


def _eviction(head: UpdateHead, entry: str) -> Eviction | None:
    return next((each for each in head.evictions if each.entry == entry), None)


def _evicted_by_hand(head: UpdateHead) -> str:
    """Return the lowest entry on the auto branch that somebody evicts, empty if there is none."""
    return next((each.entry for each in head.stack if _eviction(head, each.entry)), "")


def _landing(head: UpdateHead, updates: ConfigUpdates) -> Landing:
    if evicted := _evicted_by_hand(head):
        return Landing(Move.EVICT, "Somebody evicted it.", evicted)
    stacked = [Stacked(each.entry, each.verdict) for each in head.stack]
    return decide_landing(stacked, land_over_red=updates.land_over_red)


def _marked(head: UpdateHead) -> UpdateHead:
    """Return the head without evictions that are done, and with who evicts as the stacked entries' notes."""
    head = replace(head, evictions=tuple(each for each in head.evictions if each.entry in head.open))
    stack = tuple(
        replace(each, note=eviction_reason(found)) if (found := _eviction(head, each.entry)) else each
        for each in head.stack
    )
    return replace(head, stack=stack)


def eviction_reason(eviction: Eviction) -> str:
    """Return why an entry has left the queue, as a sentence."""
    return f"{eviction.by} evicted it."


def most_stacked(required: Sequence[RequiredCheck]) -> int:
    """Return how many entries the auto branch may have, so that what is known of their checks fits the head."""
    checks = sum(_OF_CHECK + _NAMES * len(each.name.encode()) for each in required)
    return min(MOST_OPEN, _ROOM // (_OF_ENTRY + checks))


def _entering(head: UpdateHead, seen: Observed) -> tuple[str, ...]:
    """Return the waiting entries that nothing keeps back and no newer one supersedes, as many as the branch takes."""
    old = superseded(head, seen.updates, seen.entries)
    entering = (
        each
        for each in head.waiting
        if each not in old and not _eviction(head, each) and not _is_kept(head, seen, each)
    )
    return tuple(islice(entering, max(0, most_stacked(seen.updates.required_checks) - len(head.stack))))


def _is_kept(head: UpdateHead, seen: Observed, entry: str) -> bool:
    """Tell whether a hold, a freeze window or a missing approval keeps an entry off the auto branch."""
    one = seen.entries[entry]
    held = one.kind is not EntryKind.ROLLBACK and head.set_state(one.image_set).hold is not None
    return held or entry in seen.kept


def superseded(head: UpdateHead, updates: ConfigUpdates, entries: Mapping[str, UpdateEntry]) -> tuple[str, ...]:
    """Return the entries that have lost their point: their environment is gone from the file, or a newer one of their
    kind is on its way there. That holds for promotions, and where the file says ``collapse``, for announcements too.
    """
    passed = {each.entry for each in head.stack if each.verdict is Verdict.PASS}
    kinds = {EntryKind.PROMOTION}
    if updates.supersede is Supersede.COLLAPSE:
        kinds.add(EntryKind.ANNOUNCEMENT)
    newest = {entries[each].place: each for each in head.open if entries[each].kind in kinds}
    return tuple(
        each
        for each in head.open
        if updates.environment(*entries[each].place) is None
        or (entries[each].kind in kinds and newest[entries[each].place] != each and each not in passed)
    )


def _replay(head: UpdateHead, seen: Observed, why: Why, reason: str, evicted: str = "") -> NextMove:
    """Return a replay: of the new entries on top of the auto branch, if nothing on it changes; otherwise of all."""
    old, entering = superseded(head, seen.updates, seen.entries), _entering(head, seen)
    leaves = {evicted, *old}
    stays = tuple(
        each.entry for each in head.stack if each.entry not in leaves and not _is_kept(head, seen, each.entry)
    )
    refs = seen.refs
    if why is Why.APPLY and len(stays) == len(head.stack):
        replaying = Replaying(seen.job, why, refs.default, head.auto, refs.auto, entering, stays, evicted, old)
    else:
        made = (*stays, *entering)
        replaying = Replaying(seen.job, why, refs.default, refs.default, refs.auto, made, (), evicted, old)
    return NextMove(UpdateStep(why.value), reason, replace(head, replaying=replaying))


def _wait(head: UpdateHead, timeouts: Timeouts, now: datetime) -> timedelta:
    """Return how long to wait for news: until a clock of a check may run out, at most."""
    if not head.stack:
        return IDLE
    ends = [
        each.pushed_at + limit
        for each in head.stack
        for limit in (timeouts.start, timeouts.finish)
        if each.verdict is Verdict.NONE and each.pushed_at + limit > now
    ]
    soonest = min(ends, default=now + READ_AGAIN) - now
    return min(max(soonest + timedelta(seconds=1), timedelta(seconds=1)), READ_AGAIN)


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

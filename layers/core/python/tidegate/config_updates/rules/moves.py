"""What the worker of a config repository's queue does next: land, evict, rebuild the auto branch, or wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from tidegate.config.rules.config_updates import ConfigUpdates, RequiredCheck, Supersede, Timeouts
from tidegate.config_updates.rules.entry import EntryKind, UpdateEntry
from tidegate.config_updates.rules.landing import Landing, Move, Stacked, decide_landing
from tidegate.config_updates.rules.queue import (
    IDLE,
    MOST_OPEN,
    READ_AGAIN,
    Eviction,
    JudgedCheck,
    OnAuto,
    Replaying,
    ReplayReason,
    UpdateHead,
    blocked,
    eviction_reason,
)
from tidegate.config_updates.rules.verdicts import CommitVerdict, Verdict

#: Bytes of the head for what is on the auto branch: the rest of DynamoDB's 400 KB is for 300 ids, news and reasons.
_ROOM = 340_000
#: Bytes of an entry on the auto branch, and of one of its checks besides its name, which is kept three times.
_OF_ENTRY, _OF_CHECK, _NAMES = 700, 320, 3
_REBUILDS = {
    ReplayReason.ALIGN: "The auto branch does not follow the default branch.",
    ReplayReason.APPLY: "What a hold or a freeze window covers leaves the auto branch.",
}


class UpdateStep(StrEnum):
    """What the worker does next. The values are the machine's words."""

    ALIGN = "align"
    APPLY = "apply"
    EVICT = "evict"
    LAND = "land"
    TEST = "test"
    WAIT = "wait"
    HAND_OVER = "hand over"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Refs:
    """Where the branches are at the VCS provider. ``auto`` is empty if there is no such branch."""

    default: str
    auto: str


@dataclass(frozen=True, slots=True)
class Observed:
    """What a decision rests on: the branches, the default branch's configuration, the open entries by id, the verdicts
    of the stacked commits by entry, the time, and a new id for a job.

    ``must_wait`` are the entries that a freeze window or missing approvals keep off the auto branch, ``until`` is when
    the first of these windows ends.
    """

    refs: Refs
    updates: ConfigUpdates
    entries: Mapping[str, UpdateEntry]
    verdicts: Mapping[str, CommitVerdict]
    now: datetime
    job: str
    must_wait: frozenset[str] = frozenset()
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class NextMove:
    """The worker's next step and why. ``head`` is the queue with it, not stored yet; ``wait`` is how long it waits.

    ``untested`` are the commits to push by themselves, from the lowest.
    """

    step: UpdateStep
    reason: str
    head: UpdateHead
    land: OnAuto | None = None
    untested: tuple[str, ...] = ()
    wait: timedelta = IDLE


def decide_move(head: UpdateHead, seen: Observed) -> NextMove:
    """Return the next step of the queue's worker. The head knows of the landed entries already."""
    if stopped := _stopped(head, seen):
        return stopped
    head = _marked(_judged(head, seen.verdicts))
    landing, evicted = _landing(head, seen.updates), _evicted_by_hand(head)
    if (why := _rebuild_reason(head, seen)) is not None:
        return _replay(head, seen, why, _REBUILDS[why], evicted)
    if landing.move is Move.EVICT:
        return _replay(head, seen, ReplayReason.EVICT, landing.reason, landing.entry)
    if landing.move is not Move.WAIT:
        return _branch_move(head, landing)
    if _entering(head, seen) or superseded(head, seen.updates, seen.entries):
        return _replay(head, seen, ReplayReason.APPLY, "Image sets wait.")
    wait = _wait(head, seen.updates.check_timeouts, seen.now)
    if seen.until is not None:
        wait = min(wait, max(seen.until - seen.now, timedelta(seconds=1)))
    return NextMove(UpdateStep.WAIT, landing.reason, head, wait=wait)


def _branch_move(head: UpdateHead, landing: Landing) -> NextMove:
    """Return the move of a branch to commits that are there: to one that lands, or to those that are tested."""
    if landing.move is Move.LAND:
        land = next(each for each in head.stack if each.entry == landing.entry)
        return NextMove(UpdateStep.LAND, landing.reason, head, land=land)
    untested = tuple(each.sha for each in head.stack if each.entry in landing.untested)
    return NextMove(UpdateStep.TEST, landing.reason, head, untested=untested)


def _rebuild_reason(head: UpdateHead, seen: Observed) -> ReplayReason | None:
    """Return why the auto branch cannot stay as it is, whatever the checks say; None if it can."""
    if seen.refs.default != head.base or seen.refs.auto != head.auto or not seen.refs.auto:
        return ReplayReason.ALIGN
    return ReplayReason.APPLY if any(_must_wait(head, seen, each.entry) for each in head.stack) else None


def _stopped(head: UpdateHead, seen: Observed) -> NextMove | None:
    """Return the wait while the auto branch is not ours to move, or somebody has paused the queue; otherwise None."""
    if problem := _foreign(head, seen.refs):
        waiting = replace(head, blocked=blocked(problem, seen.now + READ_AGAIN, by_person=True))
        return NextMove(UpdateStep.WAIT, problem, waiting, wait=READ_AGAIN)
    if head.pause is not None:
        return NextMove(UpdateStep.WAIT, f"{head.pause.by} has paused the queue.", head)
    return None


def _foreign(head: UpdateHead, refs: Refs) -> str:
    """Return why the auto branch is not ours to move: it has commits of others. A deleted one is created again."""
    if not refs.auto or refs.auto in {head.auto, head.base, refs.default, *(each.sha for each in head.stack)}:
        return ""
    return (
        f"The branch {head.auto_branch} is at {refs.auto[:12]}, which Tidegate did not push. Save what you need of it, "
        f"then delete the branch: Tidegate creates it again."
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
    stacked = [Stacked(each.entry, each.verdict, each.pushed) for each in head.stack]
    return decide_landing(stacked, land_over_red=updates.land_over_red)


def _marked(head: UpdateHead) -> UpdateHead:
    """Return the head without evictions that are done, and with who evicts as the stacked entries' notes."""
    head = replace(head, evictions=tuple(each for each in head.evictions if each.entry in head.open))
    stack = tuple(
        replace(each, note=eviction_reason(found)) if (found := _eviction(head, each.entry)) else each
        for each in head.stack
    )
    return replace(head, stack=stack)


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
        if each not in old and not _eviction(head, each) and not _must_wait(head, seen, each)
    )
    return tuple(islice(entering, max(0, most_stacked(seen.updates.required_checks) - len(head.stack))))


def _must_wait(head: UpdateHead, seen: Observed, entry: str) -> bool:
    """Tell whether a hold, a freeze window or a missing approval keeps an entry off the auto branch."""
    one = seen.entries[entry]
    held = one.kind is not EntryKind.ROLLBACK and head.set_state(one.image_set).hold is not None
    return held or entry in seen.must_wait


def superseded(head: UpdateHead, updates: ConfigUpdates, entries: Mapping[str, UpdateEntry]) -> tuple[str, ...]:
    """Return the entries that have lost their point: their environment is gone from the file, or a newer one of their
    kind is on its way there. That holds for promotions, and where the file says ``collapse``, for announcements too.
    """
    passed = {each.entry for each in head.stack if each.verdict is Verdict.PASS}
    kinds = {EntryKind.PROMOTION}
    if updates.supersede is Supersede.COLLAPSE:
        kinds.add(EntryKind.ANNOUNCEMENT)
    newest = {entries[each].environment_key: each for each in head.open if entries[each].kind in kinds}
    return tuple(
        each
        for each in head.open
        if updates.environment(*entries[each].environment_key) is None
        or (entries[each].kind in kinds and newest[entries[each].environment_key] != each and each not in passed)
    )


def _replay(head: UpdateHead, seen: Observed, why: ReplayReason, reason: str, evicted: str = "") -> NextMove:
    """Return a replay: of the new entries on top of the auto branch, if nothing on it changes; otherwise of all."""
    old, entering = superseded(head, seen.updates, seen.entries), _entering(head, seen)
    leaves = {evicted, *old}
    stays = tuple(
        each.entry for each in head.stack if each.entry not in leaves and not _must_wait(head, seen, each.entry)
    )
    refs = seen.refs
    if why is ReplayReason.APPLY and len(stays) == len(head.stack):
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
        if each.pushed and each.verdict is Verdict.NONE and each.pushed_at + limit > now
    ]
    soonest = min(ends, default=now + READ_AGAIN) - now
    return min(max(soonest + timedelta(seconds=1), timedelta(seconds=1)), READ_AGAIN)

"""Move the auto branch to what a replay has made, and record what became of its entries.

A repeated call finds the branch moved, and records the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tidegate.config_updates.queue.begin_replay import trailers_of
from tidegate.config_updates.rules.entry import EntryState, UpdateEntry
from tidegate.config_updates.rules.queue import (
    MOST_PAST,
    OnAuto,
    Replaying,
    UpdateHead,
    ended,
    refused,
    tried_again,
    works_here,
)
from tidegate.config_updates.rules.replay import NewCommits, Outcome, Replayed, State
from tidegate.messages.config_updates import BranchMoved, FailReplay, PushReplay
from tidegate.ports import Moved, Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound, TidegateError

#: Characters of a failed command's output in an entry's reason.
_LONGEST_OUTPUT = 2000


class UnexpectedResult(TidegateError):
    """A runner reported something else than it was asked for."""

    def __init__(self, job: str) -> None:
        super().__init__(f"The result of the job {job} does not fit its order, and nothing was pushed.")


def push_replay(ports: Ports, message: PushReplay) -> BranchMoved:
    """Move the auto branch, and store its new stack.

    Raise UnexpectedResult and UnexpectedCommits if the runner made something else, ForgeUnavailable, and Conflict after
    repeated concurrent writes: call again then.
    """
    head = deciding_again(lambda: _kept(ports, message))
    if head.replaying is None or not works_here(head, message.execution):
        return BranchMoved(moved=False, reason="Another execution works on this queue.")
    replayed = _result(ports, head.replaying)
    moved = _moved(ports, head, head.replaying, replayed)
    deciding_again(lambda: _record(ports, message.repository, replayed, moved))
    if moved.done:
        return BranchMoved(moved=True, reason="The branch is at the new commits.")
    return BranchMoved(moved=False, reason=moved.reason or "Somebody else has moved the branch meanwhile.")


def _kept(ports: Ports, message: PushReplay) -> UpdateHead:
    """Keep which result is the replay's before anything moves, and return the head."""
    head = ports.config_updates.head(message.repository)
    replaying = head.replaying
    if replaying is None or not works_here(head, message.execution) or replaying.result == message.result:
        return head
    return ports.config_updates.commit(head, replace(head, replaying=replace(replaying, result=message.result)))


def finish_replay(ports: Ports, head: UpdateHead) -> None:
    """Record a replay whose worker died after the push. One that was not pushed is given up, and repeated."""
    if head.replaying is None:
        return
    ports.jobs.close(head.replaying.job)
    try:
        replayed = _result(ports, head.replaying)
    except (NotFound, UnexpectedResult):
        replayed = None
    at = ports.config_branches.branch_heads(head.repository, [head.auto_branch]).get(head.auto_branch, "")
    # Where nothing was pushed, nothing was verified: the same commits are made again.
    if replayed is not None and at == replayed.tip and at != head.replaying.auto:
        _record(ports, head.repository, replayed, Moved(done=True, at=at))
    else:
        ports.config_updates.commit(head, replace(head, replaying=None))


def _result(ports: Ports, replaying: Replaying) -> Replayed:
    """Return what became of the entries: of all, or of the first ones if the time did not suffice.

    Every replay's runner may write every replay's result: only the one whose digest its own runner told counts. It
    names the commits, and these bind all that the bundle brings.
    """
    if not replaying.entries:
        return Replayed(replaying.base, ())
    replayed = ports.replays.result(replaying.job, replaying.result)
    if replayed is None:
        raise UnexpectedResult(replaying.job)
    names = tuple(each.id for each in replayed.outcomes)
    shas = [each.sha for each in replayed.outcomes if each.state is State.COMMITTED]
    if names != replaying.entries[: len(names)] or replayed.tip != [replaying.base, *shas][-1]:
        raise UnexpectedResult(replaying.job)
    return replayed


def _moved(ports: Ports, head: UpdateHead, replaying: Replaying, replayed: Replayed) -> Moved:
    where = head.repository, head.auto_branch, replaying.auto
    if replayed.tip == replaying.base:
        if replaying.auto == replayed.tip:
            return Moved(done=True, at=replayed.tip)
        return ports.branch_mover.move(*where, replayed.tip)
    entries = ports.config_updates.entries(head.repository, replaying.entries)
    committed = (each for each in replayed.outcomes if each.state is State.COMMITTED)
    new = NewCommits(replaying.base, tuple((each.sha, trailers_of(entries[each.id])) for each in committed))
    return ports.branch_mover.push(*where, new, ports.replays.bundle(replaying.job))


def _record(ports: Ports, repository: str, replayed: Replayed, moved: Moved) -> None:
    head = ports.config_updates.head(repository)
    replaying = head.replaying
    if replaying is None:
        return
    now = ports.clock.now()
    if not moved.done:
        stopped = refused(head, moved.reason, now) if moved.reason else replace(head, replaying=None)
        ports.config_updates.commit(head, stopped)
        return
    entries = ports.config_updates.entries(repository, head.open)
    after, saved = _applied(head, replaying, replayed, [*entries.values()], now)
    ports.config_updates.commit(head, after, saved)


def _applied(
    head: UpdateHead, replaying: Replaying, replayed: Replayed, open_: Sequence[UpdateEntry], now: datetime
) -> tuple[UpdateHead, list[UpdateEntry]]:
    """Return the head and the entries after the push."""
    entries = {each.id: each for each in open_}
    before = {each.entry: each for each in head.stack}
    saved = [*_left_out(entries, before, replaying, now)]
    stack = [before[each] for each in replaying.upon]
    for outcome in replayed.outcomes:
        entry = entries[outcome.id]
        if outcome.state is not State.COMMITTED:
            saved.append(_not_committed(entry, outcome, now))
            continue
        stack.append(_on_auto(outcome, before.get(outcome.id), now, pushed=outcome.sha == replayed.tip))
        if entry.state is not EntryState.TESTING:
            saved.append(replace(entry, state=EntryState.TESTING, commit=outcome.sha, waits_for=""))
    seen = {each.id for each in saved if each.ended_at} | {each.entry for each in stack}
    # Those that the time did not suffice for wait again, and those that a hold or a freeze window keeps.
    off = (entries[each.entry] for each in head.stack if each.entry not in seen)
    saved += [replace(each, state=EntryState.QUEUED) for each in off]
    waiting = tuple(each for each in head.open if each not in seen)
    after = replace(
        head,
        replaying=None,
        refusals=0,
        outrun=head.outrun + (bool(head.stack) and replaying.default != head.base),
        base=replaying.default,
        auto=replayed.tip,
        stack=tuple(stack),
        waiting=waiting,
    )
    return after.about(*(each.id for each in saved), *(each.id for each in replayed.outcomes)), saved


def _left_out(
    entries: dict[str, UpdateEntry], before: dict[str, OnAuto], replaying: Replaying, now: datetime
) -> list[UpdateEntry]:
    gone = [
        ended(entries[each], EntryState.SUPERSEDED, "Superseded by a newer image set, or its environment is gone.", now)
        for each in replaying.superseded
    ]
    if replaying.evicted:
        one = before[replaying.evicted]
        evicted = ended(entries[replaying.evicted], EntryState.EVICTED, one.note or "It was evicted.", now)
        gone.append(replace(evicted, commit=one.sha))
    return gone


def _not_committed(entry: UpdateEntry, outcome: Outcome, now: datetime) -> UpdateEntry:
    if outcome.state is State.NOOP:
        return ended(entry, EntryState.NOOP, "The environment has these images already.", now)
    told = (outcome.reason[:_LONGEST_OUTPUT], outcome.last_lines[-_LONGEST_OUTPUT:])
    return ended(entry, EntryState.FAILED, "\n".join(filter(None, told)), now)


def _on_auto(outcome: Outcome, before: OnAuto | None, now: datetime, *, pushed: bool) -> OnAuto:
    past = (before.sha, *before.past)[:MOST_PAST] if before else ()
    return OnAuto(outcome.id, outcome.sha, now, past, pushed=pushed)


def fail_replay(ports: Ports, message: FailReplay) -> None:
    """Record why a replay failed; the worker decides again after a while. Raise Conflict: call again then."""
    deciding_again(lambda: _fail(ports, message))


def _fail(ports: Ports, message: FailReplay) -> None:
    head = ports.config_updates.head(message.repository)
    if head.replaying is None or not works_here(head, message.execution):
        return
    ports.jobs.close(head.replaying.job)
    reason = f"The repository's commands did not run to their end: {_told(message)}"
    ports.config_updates.commit(head, tried_again(head, reason, ports.clock.now()))


def _told(message: FailReplay) -> str:
    try:
        return str(json.loads(message.cause)["message"])
    except (ValueError, KeyError, TypeError):
        return f"{message.error}: {message.cause}"[:_LONGEST_OUTPUT]

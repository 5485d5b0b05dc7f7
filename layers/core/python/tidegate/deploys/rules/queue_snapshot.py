"""Which check runs of a queue are due for an update, and when to refresh next.

Every position changes when the queue moves, and VCS providers limit writes (GitHub: 80 a minute and 500 an hour that
create content). So check runs near the front show every change, at most once a second each. Those far behind are
updated less often: at most ten of them in ten seconds, plus as many as leave the queue meanwhile.

The bound for each deployment that waits far behind, while its queue is neither locked nor unlocked: one update on
arrival, one each time its position has halved, and one whenever its text is older than half a minute for each position
before it. 200 waiting deployments that do not move cost nothing; while the queue moves they cost at most T/30 ·
ln(200/3) updates in T seconds, about 500 an hour, plus ``log2`` of their position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.queue import Lock, QueueHead, Waiting
from tidegate.deploys.rules.state import State

#: Positions that show every change.
NEAR = 3
#: Seconds between updates of a near check run; far ones have one in ``FAR_WINDOW``.
PAUSE = timedelta(seconds=1)
#: Allowed age of a far position's text, for each position before it, while the queue moves.
SECONDS_PER_POSITION = timedelta(seconds=30)
#: Far positions that are updated within a window, at most; those that came near meanwhile count as well.
FAR_BUDGET = 10
FAR_WINDOW = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Standing:
    """The text of a check run about its queue. ``place`` is 1 for the next, 0 for one that is not queued but locks.

    ``running`` is the deployment in flight, ``behind`` the one directly before (empty: there is none). ``gate`` is the
    state of the one in flight while it waits at a gate.
    """

    place: int
    running: str = ""
    reviewing: bool = False
    behind: str = ""
    lock: Lock | None = None
    gate: State | None = None

    @property
    def near(self) -> bool:
        """Whether it shows every change."""
        return self.place <= NEAR


@dataclass(frozen=True, slots=True)
class Named:
    """Another deployment that a check run names: its commit, and its check run, if there is one."""

    deployment: str
    sha: str = ""
    check_run: int | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What a check run is to show, and since when. ``names`` are those that ``standing`` names.

    ``asked`` tells that the update was requested: until then it is due.
    """

    standing: Standing
    at: datetime
    names: tuple[Named, ...] = ()
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """The result of a refresh.

    ``due`` are the check runs to update, with their content (None: no longer queued), ``gone`` those to forget,
    ``again`` when to refresh next (None: when the queue changes).
    """

    due: Mapping[str, Standing | None]
    gone: tuple[str, ...]
    again: datetime | None


def policy_statuses(head: QueueHead, line: Sequence[Waiting], state: State | None) -> dict[str, Standing]:
    """Return what each check run of a queue should show: of all queued deployments, and of the one that locks.

    ``state`` is that of the deployment in flight, if there is one.
    """
    reviewing = state in {State.AWAITING_REVIEW, State.AWAITING_REQUIREMENTS}
    gate = state if state in WAITING else None
    running = head.in_flight or ""
    before = ["", *(waiting.deployment for waiting in line)]
    found = {
        waiting.deployment: Standing(place, running, reviewing, behind, head.lock, gate)
        for place, (behind, waiting) in enumerate(zip(before, line, strict=False), start=1)
    }
    if head.lock and head.lock.deployment and head.lock.deployment not in found:
        found[head.lock.deployment] = Standing(0, lock=head.lock)
    return found


def look(now: datetime, current: Mapping[str, Standing], shown: Mapping[str, Shown]) -> Look:
    """Decide which check runs are due at ``now``, given what they should show and what they were asked to show.

    If the caller requests the due ones, stores them, forgets those gone, and refreshes in time, every check run is up
    to date in the end.
    """
    changed = {name: standing for name, standing in current.items() if _says_otherwise(shown.get(name), standing)}
    times = {name: _earliest(standing, shown.get(name), now) for name, standing in changed.items()}
    near = [name for name in changed if changed[name].near and times[name] <= now]
    far = [name for name in changed if not changed[name].near and times[name] <= now]
    room, refilled = _room_for_far(now, shown.values())
    late = [times[name] for name in changed if times[name] > now]
    if len(far) > room:
        late.append(refilled)
    unlocked = [name for name, before in shown.items() if name not in current and before.standing.lock]
    gone = tuple(name for name in shown if name not in current)
    due: dict[str, Standing | None] = {name: changed[name] for name in [*near, *far[:room]]}
    return Look(due | dict.fromkeys(unlocked), gone, min(late, default=None))


def _says_otherwise(before: Shown | None, standing: Standing) -> bool:
    return before is None or not before.asked or before.standing != standing


def _earliest(standing: Standing, before: Shown | None, now: datetime) -> datetime:
    """Return when a check run may show ``standing`` at the earliest."""
    if before is None or not before.asked:
        return now
    at, place = before.at, before.standing.place
    # A far place is shown once in a window at most: so those that were shown in it are as many as the calls.
    soon = at + (PAUSE if standing.near else FAR_WINDOW)
    if standing.near or standing.lock != before.standing.lock or standing.place * 2 <= place:
        return soon
    return max(soon, at + SECONDS_PER_POSITION * place)


def _room_for_far(now: datetime, shown: Iterable[Shown]) -> tuple[int, datetime]:
    """Return how many far places may be shown anew now, and when there will be room again if that is too few."""
    times = sorted(one.at for one in shown)
    recent = [at for at in times if at > now - FAR_WINDOW]
    room = max(0, FAR_BUDGET - len(recent))
    return room, (recent[0] if recent else now) + FAR_WINDOW

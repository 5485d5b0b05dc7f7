"""Whether all targets of an environment run an image set: reports are counted for one identity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Rollout(StrEnum):
    """How far an environment is with an image set. ``stalled`` is never complete: a target has not reported."""

    WAITING = "waiting"
    FAILED = "failed"
    STALLED = "stalled"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class TargetReport:
    """What a target reported last: the image set's identity at the commit that it deployed, and whether it worked.

    ``operation_id`` is the target's own id of the deployment, ``finished_at`` the end by its clock; both if it says so.
    """

    target: str
    identity: str
    config_sha: str
    succeeded: bool
    reported_at: datetime
    operation_id: str = ""
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is. Names of targets are in the order of the configuration."""

    rollout: Rollout
    reason: str
    done: tuple[str, ...]
    open: tuple[str, ...]


def rollout_of(
    identity: str,
    targets: Sequence[str],
    reports: Iterable[TargetReport],
    since: datetime,
    now: datetime,
    limit: timedelta,
) -> Progress:
    """Return how far the targets are with the image set that landed at ``since``.

    A report of another image set counts for that one only. Of several reports of a target the last counts: the caller
    knows their order, and clocks may differ. A target without a report within ``limit`` stalls.
    """
    latest = {each.target: each for each in reports}
    mine = {name: latest[name] for name in targets if name in latest and latest[name].identity == identity}
    done = tuple(name for name in targets if name in mine and mine[name].succeeded)
    failed = [name for name in targets if name in mine and not mine[name].succeeded]
    open_ = tuple(name for name in targets if name not in done)
    if targets and not open_:
        return Progress(Rollout.COMPLETE, "All targets have deployed it.", done, open_)
    if failed:
        return Progress(Rollout.FAILED, f"It failed on {_listed(failed)}.", done, open_)
    if now - since > limit:
        reason = f"{_listed(open_)} did not report within {int(limit.total_seconds() // 60)} minutes."
        return Progress(Rollout.STALLED, reason, done, open_)
    return Progress(Rollout.WAITING, f"{_listed(open_)} has not reported yet." if open_ else "", done, open_)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)

"""Wait for deployments to end, and report their states meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tidegate_cli.problems import NotYet, Unavailable

if TYPE_CHECKING:
    from datetime import datetime

    from tidegate.web.drift_models import DriftList, DriftScheduleModel
    from tidegate.web.models import DeploymentDetails
    from tidegate_cli.api_client import ApiClient

T = TypeVar("T")
#: Polling interval: the API sends no events.
SECONDS = 2.0
#: A requested run begins within seconds, or not at all.
BEGIN_SECONDS = 120.0
#: Consecutive polls that may fail: each has retried for some 15 s.
_FAILURES = 4


class Deadline:
    """A time limit; ``minutes`` None: there is none."""

    def __init__(self, minutes: float | None) -> None:
        self._minutes = minutes
        self._end = None if minutes is None else time.monotonic() + minutes * 60

    def check(self, left: Sequence[str]) -> None:
        """Raise NotYet, naming the remaining deployments, when the time is over."""
        if left and self._end is not None and time.monotonic() >= self._end:
            raise NotYet(
                f"Not ended within {self._minutes:g} min: {', '.join(left)}. They continue.",
                "\n".join(f"tidegate status {one}" for one in left),
            )


def until_ended(
    client: ApiClient,
    ids: Sequence[str],
    changed: Callable[[DeploymentDetails], None],
    deadline: Deadline,
    seen: Callable[[Sequence[DeploymentDetails]], None] = lambda _known: None,
) -> list[DeploymentDetails]:
    """Return the deployments once all have ended. Raise NotYet, Unavailable.

    ``changed`` gets each that comes to a new state, ``seen`` all that are known, each time they were read.
    """
    from tidegate_cli.screen import is_final

    known: dict[str, DeploymentDetails] = {}
    polling = _Polling()
    while left := [one for one in ids if one not in known or not is_final(known[one].state)]:
        for one in left:
            now = polling.get(partial(client.deployment, one))
            if now is None:
                continue
            if one not in known or known[one].state != now.state:
                changed(now)
            known[one] = now
        seen(list(known.values()))
        deadline.check([one for one in left if one not in known or not is_final(known[one].state)])
        time.sleep(SECONDS)
    return [known[one] for one in ids]


class _Polling:
    """Polls of which a few may fail."""

    def __init__(self) -> None:
        self._failures = 0

    def get(self, ask: Callable[[], T]) -> T | None:
        """Return the answer, None if there is none; raise Unavailable after repeated failures."""
        try:
            answer = ask()
        except Unavailable:
            self._failures += 1
            if self._failures > _FAILURES:
                raise
            return None
        self._failures = 0
        return answer


def until_looked(client: ApiClient, repository: str, schedule: str, before: DriftList) -> DriftList:
    """Return the schedules' results, once this one has ended a run that ``before`` does not know.

    Raise NotYet, Unavailable.
    """
    known, has_begun, polling = _looked_at(before, schedule), False, _Polling()
    end = time.monotonic() + BEGIN_SECONDS
    while True:
        found = polling.get(partial(client.drift, repository))
        if found is not None:
            now = _schedule(found, schedule)
            is_newer = _looked_at(found, schedule) not in (None, known)
            has_begun = has_begun or is_newer or bool(now and now.running)
            if now is None or (is_newer and not now.running):  # None: the file names it no more.
                return found
            if not has_begun and time.monotonic() > end:
                raise NotYet(
                    f"The requested run of the schedule {schedule} has not started.", f"tidegate drift {repository}"
                )
        time.sleep(SECONDS)


def _schedule(found: DriftList, name: str) -> DriftScheduleModel | None:
    return next((one for one in found.schedules if one.schedule == name), None)


def _looked_at(found: DriftList, name: str) -> datetime | None:
    one = _schedule(found, name)
    return one.looked_at if one else None

"""Waiting for deployments to end, and saying meanwhile where they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cli.problems import NotYet, Unavailable

if TYPE_CHECKING:
    from cli.answers.deployments import Brief
    from cli.api_client import ApiClient

SECONDS = 2.0
#: Looks that may fail one after the other: each has waited already for some 15 s.
_FAILURES = 4


class Deadline:
    """The moment after which nobody waits any more; ``minutes`` None: there is none."""

    def __init__(self, minutes: float | None) -> None:
        self._minutes = minutes
        self._end = None if minutes is None else time.monotonic() + minutes * 60

    def check(self, left: Sequence[str]) -> None:
        """Raise NotYet, naming the deployments that are left, when the time is over."""
        if left and self._end is not None and time.monotonic() >= self._end:
            raise NotYet(
                f"Not ended within {self._minutes:g} min: {', '.join(left)}. What was started goes on.",
                "\n".join(f"tidegate status {one}" for one in left),
            )


def until_ended(
    client: ApiClient, ids: Sequence[str], changed: Callable[[Brief], None], deadline: Deadline
) -> list[Brief]:
    """Return the deployments once all have ended; ``changed`` is told each new state. Raise NotYet, Unavailable."""
    from cli.screen import is_final

    known: dict[str, Brief] = {}
    failures = 0
    while left := [one for one in ids if one not in known or not is_final(known[one].state)]:
        for one in left:
            try:
                now = client.deployment(one)
            except Unavailable:
                failures += 1
                if failures > _FAILURES:
                    raise
                continue
            failures = 0
            if one not in known or known[one].state != now.state:
                changed(now)
            known[one] = now
        deadline.check([one for one in left if one not in known or not is_final(known[one].state)])
        time.sleep(SECONDS)
    return [known[one] for one in ids]

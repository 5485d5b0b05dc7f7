"""Waiting for deployments to end, and saying meanwhile where they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cli.problems import NotYet, Unavailable

if TYPE_CHECKING:
    from cli.answers import Brief
    from cli.api_client import ApiClient

SECONDS = 2.0
#: Looks that may fail one after the other: each has waited already for some 15 s.
_FAILURES = 4


class Deadline:
    """The moment after which nobody waits any more; ``minutes`` None: there is none."""

    def __init__(self, minutes: float | None) -> None:
        self._minutes = minutes
        self._end = None if minutes is None else time.monotonic() + minutes * 60

    def check(self, what: str) -> None:
        """Raise NotYet when the time is over."""
        if self._end is not None and time.monotonic() >= self._end:
            raise NotYet(
                f"{what} has not ended within {self._minutes:g} min. It goes on by itself.",
                "Look with: tidegate status",
            )


def until_ended(
    client: ApiClient, ids: Sequence[str], changed: Callable[[Brief], None], deadline: Deadline
) -> list[Brief]:
    """Return the deployments once all have ended; ``changed`` is told each new state. Raise NotYet, Unavailable."""
    from cli.screen import is_final  # noqa: PLC0415

    known: dict[str, Brief] = {}
    failures = 0
    while True:
        for one in ids:
            if one in known and is_final(known[one].state):
                continue
            try:
                now = client.deployment(one)
                failures = 0
            except Unavailable:
                failures += 1
                if failures > _FAILURES:
                    raise
                continue
            if one not in known or known[one].state != now.state:
                changed(now)
            known[one] = now
        if len(known) == len(ids) and all(is_final(item.state) for item in known.values()):
            return [known[one] for one in ids]
        deadline.check("The deployment" if len(ids) == 1 else "Every deployment")
        time.sleep(SECONDS)

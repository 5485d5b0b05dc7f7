"""Fault injection: the next matching calls fail as GitHub sometimes fails."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidegate_local.forge.http_server import Hangup
from tidegate_local.forge.pending import Pending
from tidegate_local.forge.refusals import Refusal

#: How long a call hangs at most before its connection is closed, in seconds.
LONGEST_HANG = 60


@dataclass(frozen=True, slots=True)
class Fault:
    """``times`` calls of ``method`` whose path matches ``path`` fail in this way.

    ``kind`` is hang, close, or a refusal of the forge: secondary_limit, primary_limit, server_error, bad_credentials
    (GITHUB below). ``seconds`` is the Retry-After of limits and the time of a hang. ``after`` lets the call take
    effect first, and fails its answer.
    """

    kind: str
    method: str = "*"
    path: str = ".*"
    times: int = 1
    seconds: float = 1
    after: bool = False


#: How calls fail without any answer.
SILENT = ("hang", "close")
#: Makes the refusal of a kind, with what its Retry-After says.
Refusals = Mapping[str, Callable[[str], Exception]]


class Faults(Pending[Fault]):
    """The faults that wait for their calls. Safe for threads."""

    def __init__(self, refusals: Refusals | None = None) -> None:
        super().__init__()
        self._refusals = GITHUB if refusals is None else refusals
        self._closing = threading.Event()

    def inject(self, fault: Fault) -> None:
        """Let calls fail from now on. Raise ValueError for an unknown kind or a broken pattern."""
        kinds = (*self._refusals, *SILENT)
        if fault.kind not in kinds:
            raise ValueError(f"kind must be one of {', '.join(kinds)}")
        try:
            re.compile(fault.path)
        except re.error as error:
            raise ValueError(f"path is not a valid pattern: {error}") from None
        self.add(fault)

    def close(self) -> None:
        """End all hangs."""
        self._closing.set()

    def take(self, method: str, path: str) -> Fault | None:
        """Return the fault of this call, if there is one, and count it."""
        return self.first(lambda one: one.method in {"*", method} and bool(re.fullmatch(one.path, path)))

    def failure(self, fault: Fault) -> Exception:
        """Return how a call fails in the fault's way: a refusal or Hangup, after its time."""
        if fault.kind == "hang":
            self._closing.wait(min(fault.seconds, LONGEST_HANG))
        if fault.kind in SILENT:
            return Hangup()
        return self._refusals[fault.kind](str(int(fault.seconds)))


def _refusal(status: int, message: str, **headers: str) -> Callable[[str], Refusal]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda seconds: Refusal(
        status, message, headers={name: value.format(seconds=seconds) for name, value in named.items()}
    )


GITHUB: Refusals = {
    "secondary_limit": _refusal(
        403,
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        Retry_After="{seconds}",
    ),
    "primary_limit": _refusal(
        429, "API rate limit exceeded.", Retry_After="{seconds}", X_RateLimit_Limit="5000", X_RateLimit_Remaining="0"
    ),
    "server_error": _refusal(500, "Server Error"),
    "bad_credentials": _refusal(401, "Bad credentials"),
}

"""One role's credentials, renewed for as long as the job lasts: AWS ends a chained session after an hour."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from runner.faults import JobFault, RoleRefused
from tidegate.aws.signing import Credentials

#: A session is renewed in this last part of its life: 20 minutes of an hour. SDKs refresh 5 minutes ahead (Go v2, the
#: ExpiryWindow in config/resolve_credentials.go) to 15 (botocore, credentials.RefreshableCredentials), and would ask on
#: each call if they got the same credentials then.
_LAST_PART = 1 / 3
#: Seconds after a failed renewal until the next one.
_PAUSE = 10.0
#: The lifetime of a session with an unknown expiry: AWS's shortest.
_SHORTEST = 900.0


class RoleSession:
    """Credentials of one role. May be used from several threads.

    ``assume`` starts a session or raises a JobFault; ``learn`` gets each session's credentials first, to mask them.
    ``problem`` says why the last renewal failed, empty if it did not.
    """

    def __init__(
        self,
        assume: Callable[[], Credentials],
        learn: Callable[[Credentials], object],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._assume, self._learn, self._now = assume, learn, now
        self._lock = threading.Lock()
        self._failed: JobFault | None = None
        self._tried = float("-inf")
        self._start()

    @property
    def problem(self) -> str:
        return str(self._failed or "")

    def get(self) -> tuple[Credentials, float]:
        """Return credentials and their expiry, in seconds since the epoch. Raise JobFault if there are none.

        While one thread renews, which may take a minute, the others get valid ones: botocore waits for 2 seconds.
        """
        given = self._given
        if not self._lock.acquire(blocking=self._now() >= given[1]):
            return given
        try:
            return self._renewed()
        finally:
            self._lock.release()

    def _renewed(self) -> tuple[Credentials, float]:
        now = self._now()
        if now >= self._due and now - self._tried >= _PAUSE:
            self._renew(now)
        if self._failed is not None and now >= self._given[1]:
            raise self._failed
        return self._given

    def _start(self) -> None:
        current, now = self._assume(), self._now()
        self._learn(current)
        ends = current.expires or now + _SHORTEST
        self._due = ends - (ends - now) * _LAST_PART
        self._given = current, ends

    def _renew(self, now: float) -> None:
        try:
            self._start()
        except JobFault as fault:
            ends = time.strftime("%H:%M:%S UTC", time.gmtime(self._given[1]))
            self._failed = type(fault)(f"The engine's credentials expire at {ends} and cannot be renewed. {fault}")
            self._tried = now
        else:
            self._failed = None


def is_final(fault: JobFault) -> bool:
    """Tell whether a retry is useless: people must fix it first."""
    return isinstance(fault, RoleRefused)

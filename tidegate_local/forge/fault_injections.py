"""Webhook fault injection: deliveries that are lost, duplicated or late."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate_local.forge.pending import Pending

KINDS = ("lose", "unanswered", "duplicate", "delay")


@dataclass(frozen=True, slots=True)
class FaultInjection:
    """The next ``times`` deliveries of ``event`` (and ``action``; ``*`` is any) go wrong in this way.

    ``lose``: nothing is sent, and the delivery is recorded as failed. ``unanswered``: it is sent, and recorded as
    timed out. ``duplicate``: it is sent twice under one GUID. ``delay``: it is sent ``seconds`` later,
    also after those that follow it.
    """

    kind: str
    event: str = "*"
    action: str = "*"
    times: int = 1
    seconds: float = 1


class FaultInjections(Pending[FaultInjection]):
    """The faults that wait for their deliveries. Safe for threads."""

    def inject(self, fault_injection: FaultInjection) -> None:
        """Let deliveries go wrong from now on. Raise ValueError for an unknown kind or no times."""
        if fault_injection.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}")
        if fault_injection.times < 1:
            raise ValueError("times must be at least 1")
        self.add(fault_injection)

    def take(self, event: str, action: str | None) -> FaultInjection | None:
        """Return the fault of this delivery, if there is one, and count it."""
        return self.first(lambda one: one.event in {"*", event} and one.action in {"*", action})

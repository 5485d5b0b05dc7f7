"""EventBridge Scheduler: moto keeps the schedules, and here they start what they are for.

No clock runs them: a person or a test fires one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from moto.scheduler.models import EventBridgeSchedulerBackend, Schedule


class Schedules:
    """The schedules of one account and region. ``client(role, region, service)`` has a role's rights."""

    def __init__(
        self, backend: EventBridgeSchedulerBackend, region: str, client: Callable[[str, str, str], Any]
    ) -> None:
        self._backend, self._region, self._client = backend, region, client

    def expressions(self) -> dict[str, str]:
        """Return name and expression of every schedule."""
        return {schedule.name: str(schedule.schedule_expression) for schedule in self._all()}

    def fire(self, name: str) -> None:
        """Start what a schedule starts, now. ``name`` is its name or a part of it, or of its input.

        Raise KeyError when none fits.
        """
        found = [schedule for schedule in self._all() if name in schedule.name or name in _input(schedule)]
        if not found:
            known = ", ".join(schedule.name for schedule in self._all())
            raise KeyError(f"no schedule has {name!r} in its name or input; schedules: {known or 'none'}")
        for schedule in found:
            target = schedule.target
            states = self._client(str(target["RoleArn"]), self._region, "stepfunctions")
            states.start_execution(stateMachineArn=target["Arn"], input=_input(schedule))

    def _all(self) -> Iterator[Schedule]:
        for group in list(self._backend.schedule_groups.values()):
            yield from list(group.schedules.values())


def _input(schedule: Schedule) -> str:
    return str(schedule.target.get("Input", "{}"))

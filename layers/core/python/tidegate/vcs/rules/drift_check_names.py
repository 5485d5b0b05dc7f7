"""Names of the check runs of drift schedules."""

from __future__ import annotations

_DRIFT = "tidegate/drift: "


def drift_check_name(schedule: str) -> str:
    """Return the name of a schedule's check run."""
    return f"{_DRIFT}{schedule}"


def is_of_drift(name: str) -> bool:
    """Tell whether a check run of this name shows the result of a drift schedule."""
    return name.startswith(_DRIFT)


def schedule_of(name: str) -> str:
    """Return the schedule in a check run's name."""
    return name.removeprefix(_DRIFT)

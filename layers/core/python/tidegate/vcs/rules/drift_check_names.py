"""How the check runs of drift schedules are called."""

from __future__ import annotations

_DRIFT = "tidegate/drift: "


def drift_check_name(schedule: str) -> str:
    """Return the name of a schedule's check run."""
    return f"{_DRIFT}{schedule}"


def is_of_drift(name: str) -> bool:
    """Tell whether a check run of this name shows what a schedule found."""
    return name.startswith(_DRIFT)


def schedule_of(name: str) -> str:
    """Return the name of the schedule that a check run of this name shows."""
    return name.removeprefix(_DRIFT)

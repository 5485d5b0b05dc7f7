"""Start drift detection now, independent of the schedule.

Each schedule has one run at a time, whoever started it.
"""

from __future__ import annotations

from tidegate.ports import Delivery, DeliveryOutcome, Ports
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NotFound
from tidegate.rules.permission import Permission
from tidegate.vcs.conclude import conclude


def start_drift(ports: Ports, repository: str, schedule: str, demand: str) -> Decision:
    """Start a run, unless one is in progress. ``demand`` (an id) starts only one, however often it is repeated.

    Raise NotFound for an unknown schedule, and CloudUnavailable.
    """
    record = ports.drifts.get(repository, schedule)
    if record.execution and _goes_on(ports, record.execution):
        return Decision(done=False, reason=f"The schedule {schedule} is already running.")
    ports.drift_runs.start(f"now-{demand}", repository, schedule)
    return Decision(done=True, reason=f"Started the schedule {schedule}.")


def _goes_on(ports: Ports, execution: str) -> bool:
    try:
        return ports.drift_runs.ending(execution) is None
    except NotFound:
        return False


def rerun_drift(ports: Ports, delivery: Delivery) -> str:
    """Return the result, and store it with the delivery. Raise ForgeUnavailable and CloudUnavailable."""
    return conclude(ports.deliveries, delivery.id, lambda: DeliveryOutcome(_looked(ports, delivery)))


def _looked(ports: Ports, delivery: Delivery) -> str:
    given = delivery.fields
    if ports.people.permission(given["repository"], given["sender"]) < Permission.WRITE:
        return (
            f"{given['sender']} has no write permission on {given['repository']}, so the drift detection did not start."
        )
    try:
        return start_drift(ports, given["repository"], given["schedule"], delivery.id).reason
    except NotFound as error:
        return str(error)

"""Stop the runner of a job that was given up: a hung one would go on for ever, at cost.

One that cannot be stopped now, the reconciler stops later.
"""

from __future__ import annotations

from contextlib import suppress

from tidegate.ports import Ports
from tidegate.rules.errors import CloudUnavailable

#: What Step Functions calls a wait that it has given up, while what was waited for may go on.
GIVEN_UP = frozenset({"States.HeartbeatTimeout", "States.Timeout"})


def stop_runner(ports: Ports, job: str | None) -> None:
    """Stop whoever has taken the job, if anybody has: it is interrupted, and killed two minutes later."""
    with suppress(CloudUnavailable):
        task = ports.jobs.runner(job) if job else None
        if task is not None:
            ports.runners.stop(task, f"The job {job} has ended or was cancelled.")

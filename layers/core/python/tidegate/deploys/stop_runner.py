"""Stop the runner of an abandoned job: a hung one would run on, at cost.

If that fails, the reconciler stops it later.
"""

from __future__ import annotations

from contextlib import suppress

from tidegate.ports import Ports
from tidegate.rules.errors import CloudUnavailable

#: Errors with which Step Functions ends a wait while the runner may still work.
GIVEN_UP = frozenset({"States.HeartbeatTimeout", "States.Timeout"})


def stop_runner(ports: Ports, job: str | None) -> None:
    """Stop the runner that has taken the job, if any: it is interrupted, and killed two minutes later."""
    with suppress(CloudUnavailable):
        task = ports.jobs.runner(job) if job else None
        if task is not None:
            ports.runners.stop(task, f"The job {job} has ended or was cancelled.")

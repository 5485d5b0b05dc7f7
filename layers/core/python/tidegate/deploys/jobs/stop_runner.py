"""Stop the runner of a job that was given up: a hung one would go on for ever, at cost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from tidegate.ports import Jobs, Runners
from tidegate.rules.errors import CloudUnavailable

#: What Step Functions calls a wait that it has given up, while what was waited for may go on.
GIVEN_UP = frozenset({"States.HeartbeatTimeout", "States.Timeout"})


@dataclass(frozen=True, slots=True)
class RunnerStopper:
    """Stops runners. One that cannot be stopped now, the reconciler stops later."""

    jobs: Jobs
    runners: Runners

    def stop(self, job: str | None) -> None:
        """Stop whoever has taken the job, if anybody has: it is interrupted, and killed two minutes later."""
        with suppress(CloudUnavailable):
            task = self.jobs.runner(job) if job else None
            if task is not None:
                self.runners.stop(task, f"Nobody waits any more for {job}.")

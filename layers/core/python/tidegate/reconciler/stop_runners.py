"""Stop the tasks of runners whose job nobody waits for any more, or that have run for longer than any job may."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.deploys.rules.deployment import State
from tidegate.deploys.rules.job import JobKind, job_parts
from tidegate.deploys.rules.runner_task import JobStatus, RunnerTask, reason_to_stop
from tidegate.deploys.rules.temporary_layer import LayerState
from tidegate.ports import Deployments, Jobs, Runners, TemporaryLayers
from tidegate.reconciler.turn import Turn
from tidegate.rules.errors import NotFound

_AT_MOST = 500


@dataclass(frozen=True, slots=True)
class StopRunners:
    """Stops runners that were given up, and not stopped then, or that nothing knows of."""

    runners: Runners
    jobs: Jobs
    deployments: Deployments
    layers: TemporaryLayers

    def repair(self, turn: Turn) -> int:
        def stop(task: RunnerTask) -> bool:
            reason = reason_to_stop(task, self._status(task.job), turn.clock.now())
            if reason:
                self.runners.stop(task.arn, reason)
            return bool(reason)

        return turn.each(self.runners.running(), stop, _AT_MOST)

    def _status(self, job: str) -> JobStatus | None:
        try:
            seconds = self.jobs.get(job).seconds
            owner, kind, _ = job_parts(job)
        except NotFound:
            return None
        return JobStatus(self.jobs.runner(job), *self._awaited(owner, kind, job), seconds)

    def _awaited(self, owner: str, kind: JobKind, job: str) -> tuple[bool, str]:
        """Return whether the job's result is waited for, and when that last changed."""
        try:
            if kind is JobKind.SPECULATE:
                layer = self.layers.get(owner)
                return layer.state is LayerState.PLANNING and layer.job == job, layer.changed_at
            deployment = self.deployments.get(owner)
        except NotFound:
            return False, ""
        return deployment.state is State.PLANNING and deployment.plan_job == job, deployment.changed_at

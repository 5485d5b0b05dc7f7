"""Hand a job over to its runner: leave the task token and a token to clone with in the job's record."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.domain.deploys.cancelling import not_cancelled
from tidegate.domain.errors import JobGone
from tidegate.messages import HandOverJob
from tidegate.ports import Deployments, Forge, Jobs


@dataclass(frozen=True, slots=True)
class JobHandover:
    """Hands jobs over."""

    jobs: Jobs
    deployments: Deployments
    forge: Forge

    def hand_over(self, message: HandOverJob) -> None:
        """Leave the tokens for the runner.

        Raise ForgeUnavailable and ForgeRefused before anything was left: the same can then be tried again. Raise
        JobGone when a runner has taken the job before, as then nobody would answer this token; DeploymentCancelled if
        it was closed for that.
        """
        job = self.jobs.get(message.job)
        clone_token = self.forge.clone_token(job.installation, job.repository, job.other_repositories)
        if not self.jobs.hand_over(job.id, message.token, clone_token):
            for deployment in self.deployments.many([job.deployment]).values():
                not_cancelled(deployment)
            raise JobGone(job.id)

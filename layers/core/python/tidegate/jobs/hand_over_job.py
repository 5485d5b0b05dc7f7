"""Hand a job over to its runner: leave the task token, a token to clone with and its identity in the job's record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.issued import Issued
from tidegate.deploys.rules.job import Job
from tidegate.messages import HandOverJob
from tidegate.ports import Deployments, Forge, Jobs
from tidegate.rules.errors import JobGone


class Issue(Protocol):
    """Makes the tokens of a job."""

    def __call__(self, job: Job, digest: str) -> Issued:
        """Return the tokens that a job needs, or why it gets none."""


@dataclass(frozen=True, slots=True)
class JobHandover:
    """Hands jobs over."""

    jobs: Jobs
    deployments: Deployments
    forge: Forge
    issue: Issue

    def hand_over(self, message: HandOverJob) -> None:
        """Leave the tokens for the runner.

        Raise ForgeUnavailable and ForgeRefused before anything was left: the same can then be tried again. Raise
        JobGone when a runner has taken the job before, as then nobody would answer this token; DeploymentCancelled if
        it was closed for that.
        """
        job = self.jobs.get(message.job)
        clone_token = self.forge.clone_token(job.installation, job.repository, job.other_repositories)
        identity = self.issue(job, message.digest)
        if not self.jobs.hand_over(job.id, message.token, clone_token, identity):
            for deployment in self.deployments.many([job.deployment]).values():
                not_cancelled(deployment)
            raise JobGone(job.id)

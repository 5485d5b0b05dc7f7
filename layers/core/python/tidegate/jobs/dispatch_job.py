"""Dispatch a job to its runner: store the task token, a clone token and identity tokens in the job's record."""

from __future__ import annotations

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.job import JobKind
from tidegate.jobs.issue_tokens import issue_tokens
from tidegate.messages import DispatchJob
from tidegate.ports import Ports
from tidegate.rules.errors import JobGone


def dispatch_job(ports: Ports, message: DispatchJob) -> None:
    """Store the tokens for the runner.

    Raise ForgeUnavailable and ForgeRefused before anything is stored: call again then. Raise JobGone if a runner has
    taken the job before, because it would not answer this token; DeploymentCancelled if the job was closed for that.

    A replay runs commands of a config repository: its token reads that repository alone, and it has no cloud identity.
    """
    job = ports.jobs.get(message.job)
    clone_token = ports.clone_tokens.clone_token(job.repository, job.other_repositories)
    identity = issue_tokens(ports, job, message.digest)
    if not ports.jobs.hand_over(job.id, message.token, clone_token, identity):
        of = [] if job.kind is JobKind.REPLAY else [job.deployment]
        for deployment in ports.deployments.many(of).values():
            not_cancelled(deployment)
        raise JobGone(job.id)

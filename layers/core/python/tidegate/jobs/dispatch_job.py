"""Dispatch a job to its runner: leave the task token, a token to clone with and its identity in the job's record."""

from __future__ import annotations

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.jobs.issue_tokens import issue_tokens
from tidegate.messages import DispatchJob
from tidegate.ports import Ports
from tidegate.rules.errors import JobGone


def dispatch_job(ports: Ports, message: DispatchJob) -> None:
    """Leave the tokens for the runner.

    Raise ForgeUnavailable and ForgeRefused before anything was left: the same can then be tried again. Raise
    JobGone when a runner has taken the job before, as then nobody would answer this token; DeploymentCancelled if
    it was closed for that.
    """
    job = ports.jobs.get(message.job)
    clone_token = ports.clone_tokens.clone_token(job.repository, job.other_repositories)
    identity = issue_tokens(ports, job, message.digest)
    if not ports.jobs.hand_over(job.id, message.token, clone_token, identity):
        for deployment in ports.deployments.many([job.deployment]).values():
            not_cancelled(deployment)
        raise JobGone(job.id)

"""Name, tags and source identity of a job's AWS session, by which trust policies and CloudTrail distinguish jobs.

No pydantic here: the runner imports this module, and its start is part of every deploy.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.deploys.rules.aws_target import Phase
from tidegate.deploys.rules.job import Job, JobKind

#: Session tags override tags of the role, ignoring case: a prefix keeps them apart.
_PREFIX = "tidegate:"
_PHASES = {
    JobKind.PLAN: Phase.PLAN,
    JobKind.APPLY: Phase.APPLY,
    JobKind.SPECULATE: Phase.PULL_REQUEST,
    JobKind.TASK: Phase.APPLY,
}
#: STS limits session names and source identities to this.
_LONGEST_NAME = 64
#: All phases that a job's target must be allowed in: what a plan shows must be possible to apply.
_ALLOWED = {
    JobKind.PLAN: (Phase.PLAN, Phase.APPLY),
    JobKind.APPLY: (Phase.APPLY,),
    JobKind.TASK: (Phase.APPLY,),
    JobKind.SPECULATE: (Phase.PULL_REQUEST, Phase.PLAN, Phase.APPLY),
}


def phase_of(job: Job) -> Phase:
    """Return the phase whose role a job's engine gets. A replay has no engine: KeyError."""
    return _PHASES[job.kind]


def phases_of(job: Job) -> tuple[Phase, ...]:
    """Return the phases that a job's target must be allowed in, its own first."""
    return _ALLOWED[job.kind]


def session_phase(job: Job) -> str:
    """Return the phase in a job's sessions and tokens: as ``phase_of``, and ``drift`` for plans of drift detection."""
    return "drift" if job.drift and job.kind is JobKind.SPECULATE else phase_of(job).value


def session_tags(job: Job) -> Mapping[str, str]:
    """Return the tags of a job's session.

    STS takes values of at most 256 letters, digits, spaces and ``_.:/=+-@`` (API reference, data type Tag). All of
    these are names that Tidegate has validated within that.
    """
    values = {
        "repository": job.repository,
        "root": job.root.name,
        "stack": job.stack,
        "phase": session_phase(job),
        "deployment": job.deployment,
    }
    return {f"{_PREFIX}{name}": value for name, value in values.items()}


def session_name(job: Job) -> str:
    """Return the name of a job's session: the end of its id, which identifies the job."""
    return job.id[-_LONGEST_NAME:].lstrip("-")


def source_identity(job: Job) -> str:
    r"""Return the source identity of a job's session, which stays when further roles are assumed.

    STS takes 2 to 64 of ``[\w+=,.@-]`` (API reference, AssumeRole): the ids of deployments, and of speculative plans,
    have at most 64 of ``[A-Za-z0-9-]``.
    """
    return job.deployment[:_LONGEST_NAME]

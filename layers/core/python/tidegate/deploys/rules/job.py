"""A job: one run of the engine, or of a config repository's commands, and all that its runner needs.

No pydantic here: the runner imports this module, and its start is part of every deploy.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.cluster import CurrentCluster
from tidegate.deploys.rules.issued import NOTHING, Issued
from tidegate.deploys.rules.plan_runner import PlanRunner
from tidegate.deploys.rules.runner_size import USUAL_SECONDS, RunnerSize
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.plans.rules.plan import Artifact
from tidegate.roots.rules.root import Root
from tidegate.rules.errors import NotFound

#: Bytes of a log that go to the console, to the log store (which charge by the byte) and to pages: S3 gets all.
LONGEST_LOG = 64_000_000
_LONGEST_ID = 100
_JOB_ID = re.compile(r"([A-Za-z0-9-]{1,80})-(plan|apply|speculate|replay|task)-([1-9][0-9]{0,2})")


class JobKind(StrEnum):
    """What the runner does: plan what will be applied, apply it, or plan what a pull request would change.

    ``REPLAY`` makes commits with the commands of a config repository: no engine runs, and nothing is deployed. ``TASK``
    is one task or hook of a cluster's workflow, which is part of its deployment's apply.
    """

    PLAN = "plan"
    APPLY = "apply"
    SPECULATE = "speculate"
    REPLAY = "replay"
    TASK = "task"


#: The number of the apply of a cluster's root module.
_OF_MODULE = 2
#: The root of a replay, which has none.
NO_ROOT = Root("config-updates", ".")


@dataclass(frozen=True, slots=True)
class Job:
    """The specification of one job. An apply carries the reviewed plan, a plan does not.

    ``engine_version`` is the version that made the plan; ``lock_file`` the working directory's
    dependency lock file at that time (design rule 6). For a speculative plan, ``deployment`` names the temporary
    layer, and ``base_sha`` the base branch's commit, which people know; ``merges`` tells whether ``sha`` is merged with
    it before, or planned alone; ``fork_sha`` is the one commit that both come after, if it is known that there is but
    one. ``destroy`` tells that the plan destroys what the root made; ``engine_version`` and ``lock_file`` are then
    those that it was made with, if they are known. ``allowed_providers`` and ``allowed_modules`` are patterns of what a
    speculative plan may use (``tidegate.pull_requests.rules.untrusted_code``); None stands for what is allowed where
    nobody says anything. ``drift`` tells that a speculative plan looks for drift. ``size`` is that of its runner,
    ``ref`` the branch or pull request that the commit is of, as git names it; empty where nobody knows it.
    ``runner`` is what runs it, and ``note`` a line for its log that says why.

    A replay (``replay_job``) has no deployment and no root: ``deployment`` is only the beginning of its id, ``root`` is
    ``NO_ROOT``, ``sha`` is the commit that it starts from. ``replay`` is what to replay, a ``Replay`` as JSON.

    ``task`` is what a task does, a ``TaskOrder`` as JSON. ``current`` is what is known of a cluster that is planned,
    ``management`` of its management cluster; ``begun`` tells that a workflow of it has failed before its end.
    """

    id: str
    deployment: str
    kind: JobKind
    repository: str
    sha: str
    clone_url: str
    root: Root
    plan_file: Artifact | None = None
    lock_file: Artifact | None = None
    engine_version: str | None = None
    plan_json: Artifact | None = None
    stack: str = DEFAULT_STACK
    run: RunSettings = field(default_factory=RunSettings)
    base_sha: str = ""
    merges: bool = True
    allowed_providers: tuple[str, ...] | None = None
    allowed_modules: tuple[str, ...] | None = None
    fork_sha: str = ""
    destroy: bool = False
    drift: bool = False
    size: RunnerSize = field(default_factory=RunnerSize)
    ref: str = ""
    runner: PlanRunner = PlanRunner.FARGATE
    note: str = ""
    replay: Artifact | None = None
    task: Artifact | None = None
    current: CurrentCluster | None = None
    begun: bool = False
    management: CurrentCluster | None = None

    @property
    def seconds(self) -> int:
        """How long the job may take once it is handed over: applies and tasks have limits of their own."""
        return self.size.apply_seconds if self.kind in {JobKind.APPLY, JobKind.TASK} else USUAL_SECONDS

    @property
    def other_repositories(self) -> tuple[str, ...]:
        """The other repositories, ``OWNER/NAME``, that its runner may clone: all of the same owner; a replay none."""
        if self.kind is JobKind.REPLAY:
            return ()
        owner = self.repository.rpartition("/")[0]
        return tuple(f"{owner}/{name}" for name in self.run.clone.repositories)


@dataclass(frozen=True, slots=True)
class TakenJob:
    """A job that a runner has taken: nobody else can take it any more.

    ``token`` is the task token that the result is reported to; ``clone_token`` reads the repository
    for an hour at most and is deleted from the record when the job is taken, as is its ``identity``.
    """

    job: Job
    token: str
    clone_token: str
    identity: Issued = NOTHING


def job_digest(job: Job) -> str:
    """Return the SHA-256 of a job's specification, in hexadecimal.

    It reaches the runner by the state machine, the specification by the table: a runner, or an engine that
    got hold of its rights, can write to the table but can make no other runner take what it wrote.
    """
    return hashlib.sha256(json.dumps(asdict(job), sort_keys=True).encode()).hexdigest()


def replay_job(job: str, repository: str, base: str, clone_url: str, replay: Artifact, size: RunnerSize) -> Job:
    """Return the job ``…-replay-N`` that makes the commits of a stored replay on the commit ``base``."""
    owner, kind, _ = job_parts(job)
    return Job(job, owner, kind, repository, base, clone_url, NO_ROOT, size=size, replay=replay)


def task_job(job: str, apply: Job, task: Artifact, seconds: int) -> Job:
    """Return the job ``…-task-N`` of the apply of a cluster, with a time limit of its own."""
    return replace(apply, id=job, kind=JobKind.TASK, task=task, size=replace(apply.size, apply_seconds=seconds))


def module_job(apply: Job, plan: Artifact, seconds: int) -> Job:
    """Return the job ``…-apply-2`` that applies the root module's plan in the workflow of a cluster.

    ``apply`` is the deployment's apply, which the workflow has taken; ``seconds`` is the time limit. A deployment has
    one such job, so it applies the module once.
    """
    return replace(
        apply, id=module_job_id(apply.deployment), plan_file=plan, size=replace(apply.size, apply_seconds=seconds)
    )


def module_job_id(deployment: str) -> str:
    """Return the id of the job that applies the root module in a cluster's deployment."""
    return job_id(deployment, JobKind.APPLY, _OF_MODULE)


def job_id(deployment: str, kind: JobKind, attempt: int) -> str:
    """Return the id of a job of what has this id: ``<deployment>-plan-1``. An apply has only one attempt.

    The second apply of a cluster's deployment is that of its root module, in its workflow.
    """
    return f"{deployment}-{kind}-{attempt}"


def job_parts(job: str) -> tuple[str, JobKind, int]:
    """Return the deployment (speculative plan, replay), kind and attempt that a job's id names.

    Raise NotFound for a text that is none.
    """
    match = _JOB_ID.fullmatch(job)
    if match is None:
        raise NotFound("job", job[:_LONGEST_ID])
    return match.group(1), JobKind(match.group(2)), int(match.group(3))


def plan_prefix(job: str) -> str:
    """Return where a plan job's artifacts lie in the artifact bucket."""
    return f"plans/{job}"


def log_key(job: str) -> str:
    """Return where a job's complete log lies in the artifact bucket once it has ended."""
    return f"logs/{job}.txt"

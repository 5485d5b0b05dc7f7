"""Why a job ended without a result. The name of each class's ``error`` is what the state machine sees.

::

    JobFault
    ├── EngineFailed      TerraformClientError  the engine itself exited with an error
    ├── EngineMissing     TerraformClientError  the engine's version that the configuration names was never released
    ├── StateWouldBeLost  TerraformClientError  the root keeps its state on the runner's disk, which goes with it
    ├── ClusterPlanRefused TerraformClientError the workflow of a cluster cannot be constructed as it is declared
    ├── StepFailed        TerraformClientError  a program of the workflow failed, or a step cannot be run as it stands
    ├── CommitRefused     TerraformClientError  the commit has files that git refuses, or has no such root's directory
    ├── RoleRefused       TerraformClientError  the role that the root names is not allowed, or lets no runner in
    ├── CodeRefused       TerraformClientError  a pull request's root would run programs, or fetch code, nobody allowed
    ├── MergeFailed       TerraformClientError  a pull request's head and its base cannot be merged
    ├── WorkspaceMissing  TerraformClientError  the workspace that a pull request's root is planned in does not exist
    ├── RunnerFault       RunnerFault           everything else went wrong
    ├── TooLargeForLambda TooLargeForLambda     Lambda has too little time, memory or disk for a plan
    ├── PlanAltered       PlanAltered           the stored plan is not the reviewed one; nothing was applied
    ├── ApplyNotStarted   ApplyNotStarted       an apply failed before the engine was started; nothing was applied
    ├── ClusterUnreachable  ClusterUnreachable  a cluster, or what makes it, does not answer: the task is tried again
    ├── TaskFailed        TaskFailed            a task or hook of a cluster's workflow failed, or was refused
    └── Interrupted       Interrupted           the runner was told to stop
"""

from __future__ import annotations

from typing import Literal


class JobFault(Exception):  # The state machine's words.
    """A job ends without a result. ``last_lines`` are the log's at that time, if more was printed after it.

    ``mark`` is a word for what is no failure of the engine: ``refused`` if the code may not be run and was not,
    ``conflict`` if a person must merge first, ``ended`` if the engine exited after an interrupt.
    """

    error = "RunnerFault"
    last_lines = ""
    mark: Literal["", "refused", "conflict", "ended"] = ""


class EngineFailed(JobFault):
    """The engine exited with an error, which the author must fix. ``was_killed`` tells that a signal ended it.

    ``command`` is that of the engine.
    """

    error = "TerraformClientError"
    was_killed = False
    command = ""


class EngineMissing(JobFault):
    """The configuration names an engine version that does not exist, which the author must fix."""

    error = "TerraformClientError"


class StateWouldBeLost(JobFault):
    """The root keeps its state on the runner's disk: the author must fix that before anything is created."""

    error = "TerraformClientError"


class ClusterPlanRefused(JobFault):
    """The workflow of a cluster cannot be constructed, which the author must fix."""

    error = "TerraformClientError"


class StepFailed(JobFault):
    """A step of the workflow failed that is not the engine's, which the author must fix."""

    error = "TerraformClientError"


class RunnerFault(JobFault):
    """The runner's own dependencies failed."""


class TooLargeForLambda(JobFault):
    """Lambda has too little time, memory or disk for a plan. The next attempt runs on Fargate."""

    error = "TooLargeForLambda"


class CommitRefused(JobFault):
    """The commit cannot be checked out: the author must fix it, and a retry would fail the same way."""

    error = "TerraformClientError"
    mark = "refused"


class PlanAltered(JobFault):
    """The stored plan is not what the plan job stored."""

    error = "PlanAltered"


class ApplyNotStarted(JobFault):
    """An apply job failed before the engine was started, so nothing was applied."""

    error = "ApplyNotStarted"


class ClusterUnreachable(JobFault):
    """A cluster, or what makes it, does not answer: a retry may succeed, as each task finds what it has done."""

    error = "ClusterUnreachable"


class TaskFailed(JobFault):
    """A task or hook of a cluster's workflow failed, or was refused: a person must do what its message says."""

    error = "TaskFailed"


class Interrupted(JobFault):
    """The runner was told to stop, by ECS or because the job is no longer awaited."""

    error = "Interrupted"


class CodeRefused(JobFault):
    """A pull request's root would run programs, or fetch code, that are not allowed: the author must fix it."""

    error = "TerraformClientError"
    mark = "refused"


class RoleRefused(JobFault):
    """The role that the root names is not allowed, or does not trust the runner: a person must fix it."""

    error = "TerraformClientError"
    mark = "refused"


class MergeFailed(JobFault):
    """A pull request's head cannot be merged with its base: the author must fix it."""

    error = "TerraformClientError"
    mark = "conflict"


class WorkspaceMissing(JobFault):
    """The root's workspace does not exist yet, and a pull request's plan creates none."""

    error = "TerraformClientError"

"""Why a job ended without a result. The name of each class's ``error`` is what the state machine sees.

::

    JobFault
    ├── EngineFailed      TerraformClientError  the engine itself exited with an error
    ├── EngineMissing     TerraformClientError  the engine's version that the configuration names was never released
    ├── StateWouldBeLost  TerraformClientError  the root keeps its state on the runner's disk, which goes with it
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
    └── Interrupted       Interrupted           the runner was told to stop
"""

from __future__ import annotations

from typing import Literal


class JobFault(Exception):  # The state machine's words.
    """A job ends without a result. ``last_lines`` are the log's at that time, where more was printed after it.

    ``mark`` is a word for what is no failure of the engine: ``refused`` if what was to be run may not be, and was not,
    ``conflict`` if a person has to merge first, ``ended`` if the engine ended by itself after an interrupt.
    """

    error = "RunnerFault"
    last_lines = ""
    mark: Literal["", "refused", "conflict", "ended"] = ""


class EngineFailed(JobFault):
    """The engine exited with an error: the author's to mend. ``was_killed`` tells that a signal ended it.

    ``command`` is that of the engine.
    """

    error = "TerraformClientError"
    was_killed = False
    command = ""


class EngineMissing(JobFault):
    """The configuration names an engine's version that is not there: the author's to mend, like the engine's errors."""

    error = "TerraformClientError"


class StateWouldBeLost(JobFault):
    """The root keeps its state where the runner ends: the author's to mend, before anything is created."""

    error = "TerraformClientError"


class StepFailed(JobFault):
    """A step of the workflow failed that is not the engine's: the author's to mend, like the engine's errors."""

    error = "TerraformClientError"


class RunnerFault(JobFault):
    """Something that the runner needs did not work."""


class TooLargeForLambda(JobFault):
    """Lambda has too little time, memory or disk for a plan. The next attempt runs on Fargate."""

    error = "TooLargeForLambda"


class CommitRefused(JobFault):
    """The commit cannot be checked out as it is: the author's to mend, and no other attempt would end otherwise."""

    error = "TerraformClientError"
    mark = "refused"


class PlanAltered(JobFault):
    """What the plan job stored is not what is there now."""

    error = "PlanAltered"


class ApplyNotStarted(JobFault):
    """An apply job failed before the engine was started, so nothing was applied."""

    error = "ApplyNotStarted"


class Interrupted(JobFault):
    """The runner was told to stop, by ECS or because nobody waits for the job any more."""

    error = "Interrupted"


class CodeRefused(JobFault):
    """A pull request's root would run programs, or fetch code, that nobody allowed: the author's to mend."""

    error = "TerraformClientError"
    mark = "refused"


class RoleRefused(JobFault):
    """The role that the root names is not allowed, or does not let the runner in: people's to mend, by what it says."""

    error = "TerraformClientError"
    mark = "refused"


class MergeFailed(JobFault):
    """A pull request's head cannot be merged with its base: the author's to mend."""

    error = "TerraformClientError"
    mark = "conflict"


class WorkspaceMissing(JobFault):
    """The root's workspace does not exist yet, and a plan of a pull request makes none."""

    error = "TerraformClientError"

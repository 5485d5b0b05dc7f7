"""A job's workflow: the steps around the engine's work, from the configuration.

No pydantic here: the runner imports this module, and its start is part of every deploy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tidegate.deploys.rules.aws_target import AwsTarget
from tidegate.deploys.rules.cluster import DeclaredCluster
from tidegate.deploys.rules.runner_size import RunnerNeeds
from tidegate.deploys.rules.targets import AzureTarget, GoogleTarget

#: How the last line of an apply begins that succeeded, and a step after which did not.
STEP_FAILED = "THE APPLY SUCCEEDED, BUT A STEP AFTER IT DID NOT: "


class StepKind(StrEnum):
    """What a step does: the engine's own work, a program, or an environment variable for the steps after it."""

    INIT = "init"
    PLAN = "plan"
    APPLY = "apply"
    RUN = "run"
    ENV = "env"


class RunOn(StrEnum):
    """When a program runs: after success, after a failure of an earlier step, or in either case."""

    SUCCESS = "success"
    FAILURE = "failure"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class WorkflowStep:
    """One step. Stack variables in it are filled in already; ``${NAME}`` of the run time is not.

    ``command`` is the argv of ``run`` and ``env`` steps, ``name`` the variable that an ``env`` step sets to what
    its program prints (``sensitive``: masked in logs; ``source``: the program prints ``NAME=VALUE`` lines).
    ``extra_args`` are for the engine's own commands, ``env`` for this step alone.
    """

    kind: StepKind
    command: tuple[str, ...] = ()
    name: str = ""
    source: bool = False
    sensitive: bool = False
    extra_args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    run_on: RunOn = RunOn.SUCCESS
    ignore_errors: bool = False


PLAN_STEPS = (WorkflowStep(StepKind.INIT), WorkflowStep(StepKind.PLAN))
APPLY_STEPS = (WorkflowStep(StepKind.INIT), WorkflowStep(StepKind.APPLY))


@dataclass(frozen=True, slots=True)
class CloneSettings:
    """What is cloned besides the repository itself.

    ``repositories`` are the names of others of the same owner, which modules and submodules may come from.
    ``submodules`` tells whether these are put in place, ``lfs`` whether files in Git LFS are.
    """

    repositories: tuple[str, ...] = ()
    submodules: bool = False
    lfs: bool = False


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How one root runs in one stack: the name of its environment, its variables, and all steps, hooks included.

    ``variables`` are pairs of a whole name, such as ``STACK_VAR_REGION``, and a text. Programs see them, and
    ``TIDEGATE_ENVIRONMENT`` and ``TIDEGATE_STACK``. ``masks`` are patterns of what is masked in the job's log,
    ``clone`` says what the runner clones, ``aws`` which account its engine works in, None for the installation's own,
    and ``runner`` what it asks of its runner. ``google`` and ``azure`` say what it becomes there with a token of its
    job, None for nothing. ``cluster`` is what the root is, None for a root module.
    """

    environment: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    plan: tuple[WorkflowStep, ...] = PLAN_STEPS
    apply: tuple[WorkflowStep, ...] = APPLY_STEPS
    masks: tuple[str, ...] = ()
    clone: CloneSettings = field(default_factory=CloneSettings)
    aws: AwsTarget | None = None
    runner: RunnerNeeds | None = None
    google: GoogleTarget | None = None
    azure: AzureTarget | None = None
    cluster: DeclaredCluster | None = None

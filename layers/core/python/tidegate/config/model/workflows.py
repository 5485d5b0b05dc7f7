"""The keys of ``tidegate.yaml`` for jobs: workflows, hooks and their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tidegate.config.model.stacks import EngineTextChoice
from tidegate.config.section import Section
from tidegate.config.step_values import (
    ApplyOptions,
    Command,
    Environment,
    EnvironmentName,
    InitOptions,
    OwnVariable,
    PlanOptions,
)
from tidegate.config.values import Flag, Query, as_list, empty_if_absent, refused
from tidegate.deploys.rules.workflow import RunOn, StepKind, WorkflowStep
from tidegate.deploys.rules.workflow_rules import apply_problem, plan_problem, step_problem

#: Total characters of a workflow's steps, or of all hooks: they are stored with each deployment.
_LONGEST_TOGETHER = 20_000

_Env = Annotated[Environment, Field(default_factory=dict, description="Environment variables for this step only.")]
_Cmd = Annotated[Command, Field(description="The program and its arguments as a list. There is no shell.")]


class _Step(Section):
    """The fields of all steps, besides their type and ``env``."""

    @property
    def step(self) -> WorkflowStep:
        raise NotImplementedError


class InitStep(_Step):
    """Initializes the directory: modules, providers, backend. Short form: `- init`."""

    type: Annotated[Literal["init"], Field(description="The step type.")]
    extra_args: Annotated[InitOptions, Field(description="More options, such as `-backend-config=prod.hcl`.")] = ()
    env: _Env

    @property
    def step(self) -> WorkflowStep:
        return WorkflowStep(StepKind.INIT, extra_args=self.extra_args, env=tuple(self.env.items()))


class PlanStep(_Step):
    """Creates the plan. Short form: `- plan`."""

    type: Annotated[Literal["plan"], Field(description="The step type.")]
    extra_args: Annotated[PlanOptions, Field(description="More options, such as `-var-file=prod.tfvars`.")] = ()
    env: _Env

    @property
    def step(self) -> WorkflowStep:
        return WorkflowStep(StepKind.PLAN, extra_args=self.extra_args, env=tuple(self.env.items()))


class ApplyStep(_Step):
    """Applies the reviewed plan. Short form: `- apply`."""

    type: Annotated[Literal["apply"], Field(description="The step type.")]
    extra_args: Annotated[ApplyOptions, Field(description="More options, such as `-parallelism=5`.")] = ()
    env: _Env

    @property
    def step(self) -> WorkflowStep:
        return WorkflowStep(StepKind.APPLY, extra_args=self.extra_args, env=tuple(self.env.items()))


class RunStep(_Step):
    """Runs a program in the root's directory."""

    type: Annotated[Literal["run"], Field(description="The step type.")]
    cmd: _Cmd
    run_on: Annotated[RunOn, Field(description="Whether the step runs after success, after a failure, or always.")] = (
        RunOn.SUCCESS
    )
    ignore_errors: Annotated[Flag, Field(description="Whether the job continues if this step fails.")] = False
    env: _Env

    @property
    def step(self) -> WorkflowStep:
        return WorkflowStep(
            StepKind.RUN, self.cmd, env=tuple(self.env.items()), run_on=self.run_on, ignore_errors=self.ignore_errors
        )


class EnvStep(_Step):
    """Sets an environment variable for later steps to a program's output."""

    type: Annotated[Literal["env"], Field(description="The step type.")]
    name: Annotated[
        OwnVariable | None, Field(description="The variable's name; not allowed with `method: source`.")
    ] = None
    cmd: _Cmd
    method: Annotated[
        Literal["source"] | None, Field(description="With `source`, the program prints `NAME=VALUE` lines.")
    ] = None
    sensitive: Annotated[Flag, Field(description="Whether to mask the values in logs.")] = False
    env: _Env

    @model_validator(mode="after")
    def _name_or_source(self) -> Self:
        if self.method is None and self.name is None:
            raise refused("the step sets no variable", "Add 'name', or set method: source")
        if self.method is not None and self.name is not None:
            raise refused("'name' is not allowed with method: source", "Remove one of them")
        return self

    @property
    def step(self) -> WorkflowStep:
        return WorkflowStep(
            StepKind.ENV,
            self.cmd,
            self.name or "",
            self.method is not None,
            self.sensitive,
            env=tuple(self.env.items()),
        )


def _step_alone(value: Any) -> Any:
    """Accept ``init``, ``plan`` and ``apply``, the short forms of steps."""
    if isinstance(value, str):
        return {"type": value}
    if not isinstance(value, dict):
        raise refused(
            "invalid step", "Write a step such as {type: run, cmd: [make, check]}, or just init, plan or apply"
        )
    return value


def _usable(step: _Step) -> _Step:
    if problem := step_problem(step.step):
        raise refused(problem, "Change the step")
    return step


def _job(find: Callable[[Sequence[WorkflowStep]], str | None], usual: str) -> AfterValidator:
    """Return the validator that refuses steps that do not form a job."""

    def validate(steps: tuple[_Step, ...] | None) -> tuple[_Step, ...] | None:
        if steps is not None and (problem := find([each.step for each in steps])):
            raise refused(f"this step cannot run: {problem}", f"By default, the steps are {usual}")
        return steps

    return AfterValidator(validate)


Step = Annotated[
    Annotated[InitStep | PlanStep | ApplyStep | RunStep | EnvStep, Field(discriminator="type")],
    BeforeValidator(
        _step_alone,
        json_schema_input_type=Literal["init", "plan", "apply"] | InitStep | PlanStep | ApplyStep | RunStep | EnvStep,
    ),
    AfterValidator(_usable),
]
HookStep = Annotated[
    Annotated[RunStep | EnvStep, Field(discriminator="type")],
    BeforeValidator(_step_alone, json_schema_input_type=RunStep | EnvStep),
    AfterValidator(_usable),
]
_Steps = Annotated[tuple[Step, ...], Field(max_length=50), BeforeValidator(as_list)]
_HookSteps = Annotated[
    tuple[HookStep, ...], Field(max_length=20), BeforeValidator(lambda value: () if value is None else as_list(value))
]


def letters(steps: Sequence[_Step]) -> int:
    """Return the total characters of steps."""
    return sum(len(text) for each in steps for text in texts(each.step))


def texts(step: WorkflowStep) -> list[str]:
    """Return the texts of a step in which variables may stand."""
    return [*step.command, *step.extra_args, *(value for _, value in step.env)]


def _refuse_long(*lists: Sequence[_Step] | None) -> None:
    if sum(letters(steps) for steps in lists if steps) > _LONGEST_TOGETHER:
        raise refused(
            "the steps are too long",
            f"They may have at most {_LONGEST_TOGETHER} characters in total: move scripts into files",
        )


class WorkflowSection(Section):
    """How jobs of some roots run. Each list replaces the whole job, so it starts with init."""

    tag_query: Annotated[
        Query,
        Field(
            description="A tag query that selects the roots. For each root, the first workflow that matches applies."
        ),
    ]
    environment: Annotated[
        EnvironmentName | None, Field(description="A name that steps get as `TIDEGATE_ENVIRONMENT`.")
    ] = None
    engine: Annotated[
        EngineTextChoice | None, Field(description="The engine for roots that have none by their own section or stack.")
    ] = None
    plan: Annotated[
        _Steps | None, _job(plan_problem, "init and plan"), Field(description="The steps of a plan job.")
    ] = None
    apply: Annotated[
        _Steps | None, _job(apply_problem, "init and apply"), Field(description="The steps of an apply job.")
    ] = None

    @model_validator(mode="after")
    def _not_long(self) -> Self:
        _refuse_long(self.plan, self.apply)
        return self


class HookSection(Section):
    """Steps before and after a job's own steps: `run` and `env`."""

    pre: Annotated[_HookSteps, Field(description="Steps before the first step.")] = ()
    post: Annotated[_HookSteps, Field(description="Steps after the last step.")] = ()


_Hook = Annotated[HookSection, BeforeValidator(empty_if_absent)]


class HooksSection(Section):
    """Steps before and after every workflow's own; those of `all` come first."""

    all: Annotated[_Hook, Field(description="Hooks for plan and apply jobs.")] = HookSection()
    plan: Annotated[_Hook, Field(description="Hooks for plan jobs.")] = HookSection()
    apply: Annotated[_Hook, Field(description="Hooks for apply jobs.")] = HookSection()

    @model_validator(mode="after")
    def _not_long(self) -> Self:
        _refuse_long(*(steps for hook in (self.all, self.plan, self.apply) for steps in (hook.pre, hook.post)))
        return self

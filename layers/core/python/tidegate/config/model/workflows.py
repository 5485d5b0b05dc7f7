"""The keys of ``tidegate.yaml`` that say what a job does: workflows, hooks and their steps."""

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

#: Letters of all steps of a workflow, or of all hooks: they travel with each deployment.
_LONGEST_TOGETHER = 20_000

_Env = Annotated[Environment, Field(default_factory=dict, description="Variables of this step alone.")]
_Cmd = Annotated[
    Command, Field(description="The program and its arguments, each a text of its own: there is no shell.")
]


class _Step(Section):
    """What all steps have besides their type and ``env``."""

    @property
    def step(self) -> WorkflowStep:
        raise NotImplementedError


class InitStep(_Step):
    """Prepares the directory: modules, providers, backend. `- init` alone will do."""

    type: Annotated[Literal["init"], Field(description="The kind of step.")]
    extra_args: Annotated[InitOptions, Field(description="More options, such as `-backend-config=prod.hcl`.")] = ()
    env: _Env

    @property
    def step(self) -> WorkflowStep:
        return WorkflowStep(StepKind.INIT, extra_args=self.extra_args, env=tuple(self.env.items()))


class PlanStep(_Step):
    """Makes the plan. `- plan` alone will do."""

    type: Annotated[Literal["plan"], Field(description="The kind of step.")]
    extra_args: Annotated[PlanOptions, Field(description="More options, such as `-var-file=prod.tfvars`.")] = ()
    env: _Env

    @property
    def step(self) -> WorkflowStep:
        return WorkflowStep(StepKind.PLAN, extra_args=self.extra_args, env=tuple(self.env.items()))


class ApplyStep(_Step):
    """Applies the reviewed plan. `- apply` alone will do."""

    type: Annotated[Literal["apply"], Field(description="The kind of step.")]
    extra_args: Annotated[ApplyOptions, Field(description="More options, such as `-parallelism=5`.")] = ()
    env: _Env

    @property
    def step(self) -> WorkflowStep:
        return WorkflowStep(StepKind.APPLY, extra_args=self.extra_args, env=tuple(self.env.items()))


class RunStep(_Step):
    """Runs a program in the root's directory."""

    type: Annotated[Literal["run"], Field(description="The kind of step.")]
    cmd: _Cmd
    run_on: Annotated[RunOn, Field(description="Whether it runs after success, after a failure, or always.")] = (
        RunOn.SUCCESS
    )
    ignore_errors: Annotated[Flag, Field(description="Whether the job goes on when it fails.")] = False
    env: _Env

    @property
    def step(self) -> WorkflowStep:
        return WorkflowStep(
            StepKind.RUN, self.cmd, env=tuple(self.env.items()), run_on=self.run_on, ignore_errors=self.ignore_errors
        )


class EnvStep(_Step):
    """Sets a variable of the steps after it to what a program prints."""

    type: Annotated[Literal["env"], Field(description="The kind of step.")]
    name: Annotated[OwnVariable | None, Field(description="The variable; none with `method: source`.")] = None
    cmd: _Cmd
    method: Annotated[
        Literal["source"] | None, Field(description="With `source`, the program prints lines of `NAME=VALUE`.")
    ] = None
    sensitive: Annotated[Flag, Field(description="Whether the values are masked in logs.")] = False
    env: _Env

    @model_validator(mode="after")
    def _name_or_source(self) -> Self:
        if self.method is None and self.name is None:
            raise refused("the step names no variable", "Add name, or method: source")
        if self.method is not None and self.name is not None:
            raise refused("with method: source, 'name' has no meaning", "Remove one of both")
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
    """Take ``init``, ``plan`` and ``apply``, the short form of steps, as their types alone."""
    if isinstance(value, str):
        return {"type": value}
    if not isinstance(value, dict):
        raise refused(
            "this is not a step", "Write such as {type: run, cmd: [make, check]}, or init, plan or apply alone"
        )
    return value


def _usable(step: _Step) -> _Step:
    if problem := step_problem(step.step):
        raise refused(problem, "Change the step")
    return step


def _job(find: Callable[[Sequence[WorkflowStep]], str | None], usual: str) -> AfterValidator:
    """Return the validator that refuses steps which do not make a job."""

    def validate(steps: tuple[_Step, ...] | None) -> tuple[_Step, ...] | None:
        if steps is not None and (problem := find([each.step for each in steps])):
            raise refused(f"this cannot be run: {problem}", f"Without this key the steps are {usual}")
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
    """Return how many letters steps have together."""
    return sum(len(text) for each in steps for text in texts(each.step))


def texts(step: WorkflowStep) -> list[str]:
    """Return the texts of a step in which variables may stand."""
    return [*step.command, *step.extra_args, *(value for _, value in step.env)]


def _refuse_long(*lists: Sequence[_Step] | None) -> None:
    if sum(letters(steps) for steps in lists if steps) > _LONGEST_TOGETHER:
        raise refused(
            "the steps are too long", f"They may have {_LONGEST_TOGETHER} letters together: move scripts into files"
        )


class WorkflowSection(Section):
    """How jobs of some roots run. Both lists stand for the whole job: init comes first."""

    tag_query: Annotated[
        Query, Field(description="The roots: the first workflow whose query matches counts for a root.")
    ]
    environment: Annotated[
        EnvironmentName | None, Field(description="A name that programs see as `TIDEGATE_ENVIRONMENT`.")
    ] = None
    engine: Annotated[EngineTextChoice | None, Field(description="The engine of roots without one nearer to them.")] = (
        None
    )
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
    """Steps around a job's own: programs and variables."""

    pre: Annotated[_HookSteps, Field(description="Before the first step.")] = ()
    post: Annotated[_HookSteps, Field(description="After the last step.")] = ()


_Hook = Annotated[HookSection, BeforeValidator(empty_if_absent)]


class HooksSection(Section):
    """Steps around those of all workflows; those of `all` come first."""

    all: Annotated[_Hook, Field(description="Around plan and apply jobs.")] = HookSection()
    plan: Annotated[_Hook, Field(description="Around plan jobs.")] = HookSection()
    apply: Annotated[_Hook, Field(description="Around apply jobs.")] = HookSection()

    @model_validator(mode="after")
    def _not_long(self) -> Self:
        _refuse_long(*(steps for hook in (self.all, self.plan, self.apply) for steps in (hook.pre, hook.post)))
        return self

"""How roots run in their stacks: what stacks, workflows, hooks and the file say, with stack variables filled in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial, reduce
from typing import TypeVar

from pydantic_core import PydanticCustomError

from tidegate.changes.rules.stack import DEFAULT_STACK, Stack, StackDefinition
from tidegate.changes.rules.stack_groups import groups_of
from tidegate.config.declarations import (
    AwsText,
    CloudText,
    DeclaredStack,
    DeclaredWorkflow,
    EngineText,
    Hooks,
    RootDeclaration,
    RunnerText,
)
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.model.file import FILE
from tidegate.config.substitution import PREFIX, UnsetVariable, filled, filled_step
from tidegate.config.values import exact_version
from tidegate.deploys.rules.aws_target import AwsTarget, InvalidTarget, aws_target
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.runner_size import RunnerNeeds, size_problem
from tidegate.deploys.rules.targets import (
    AzureTarget,
    GoogleTarget,
    IncompleteTarget,
    azure_target,
    google_target,
)
from tidegate.deploys.rules.workflow import APPLY_STEPS, PLAN_STEPS, RunSettings, WorkflowStep
from tidegate.deploys.rules.workflow_rules import apply_problem, plan_problem
from tidegate.roots.rules.root import Engine, EngineName
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.rules.access import UNMATCHED, Access
from tidegate.rules.errors import TidegateError, quoted

_VERSIONS = "Write a version such as 1.11.4, without operators"
#: Bytes that all steps and variables of a root may have, filled in: they are stored with each of its deployments and
#: jobs, whose records have room for 400 KB. The loader limits the texts before they are filled in only.
MOST_BYTES = 100_000
_STEPS = "Change the steps, or the stack's variables that they name"
_ENGINES = f"Engines: {' and '.join(EngineName)}"
#: What runs where no workflow matches.
_USUAL = DeclaredWorkflow(parse_tag_query(""), 0)
_Text = TypeVar("_Text", bound=EngineText | AwsText | CloudText | RunnerText)
_Target = TypeVar("_Target")
_NOBODY = Access((), (), (), (), UNMATCHED)


class Unusable(TidegateError):
    """What a file says cannot be used for some roots: where, why, and what to do."""

    def __init__(self, line: int, problem: str, allowed: str) -> None:
        super().__init__(f"{FILE}:{line}: {problem}. {allowed}.")


class Settings:
    """What a file says of roots in their stacks: asked many times, decided once for the same parts of it."""

    def __init__(self, loaded: LoadedConfiguration, stacks: Mapping[str, Stack]) -> None:
        self._loaded, self._stacks = loaded, stacks
        self._declared = {each.definition.name: each for each in loaded.stacks}
        self._variables = {
            name: {f"{PREFIX}{variable}": value for variable, value in stack.variables}
            for name, stack in stacks.items()
        }
        contains = {each.definition.name: each.definition.contains for each in loaded.stacks}
        self._groups = groups_of({DEFAULT_STACK: (), **contains})
        # Caches of functools would hold this object, and the whole file with it, until the garbage collector comes.
        self._engines: dict[tuple[EngineText | None, str, int | None], tuple[Engine, int]] = {}
        self._targets: dict[tuple[AwsText | None, str], tuple[AwsTarget | None, int]] = {}
        self._needs: dict[tuple[RunnerText | None, str], tuple[RunnerNeeds | None, int]] = {}
        self._runs: dict[tuple[str, int | None], tuple[RunSettings, dict[str, int]] | Unusable] = {}

    def engine(self, own: EngineText | None, stack: str, workflow: int | None) -> tuple[Engine, int]:
        """Return the engine of roots with one of their own in a stack, and the line that says it. Raise Unusable."""
        asked = own, stack, workflow
        if asked not in self._engines:
            self._engines[asked] = self._engine(*asked)
        return self._engines[asked]

    def aws(self, own: AwsText | None, stack: str) -> tuple[AwsTarget | None, int]:
        """Return the account of roots with one of their own in a stack, and the line that says it. Raise Unusable."""
        asked = own, stack
        if asked not in self._targets:
            self._targets[asked] = self._target(*asked)
        return self._targets[asked]

    def runner(self, own: RunnerText | None, stack: str) -> tuple[RunnerNeeds | None, int]:
        """Return what roots with needs of their own in a stack ask of runners, and its line. Raise Unusable."""
        asked = own, stack
        if asked not in self._needs:
            self._needs[asked] = self._runner(*asked)
        return self._needs[asked]

    def google(self, own: CloudText | None, stack: str) -> tuple[GoogleTarget | None, int]:
        """Return what roots with this of their own work with on Google Cloud, and the line. Raise Unusable."""
        said = [own, *self._around_of(stack, "accounts (google)", lambda each: each.google), self._loaded.google]
        return _cloud_target(said, google_target)

    def azure(self, own: CloudText | None, stack: str) -> tuple[AzureTarget | None, int]:
        """Return what roots with this of their own work with on Azure, and the line. Raise Unusable."""
        said = [own, *self._around_of(stack, "accounts (azure)", lambda each: each.azure), self._loaded.azure]
        return _cloud_target(said, azure_target)

    def run(self, stack: str, workflow: int | None) -> tuple[RunSettings, dict[str, int]]:
        """Return how roots of a stack run with a workflow, and the lines that say so. Raise Unusable."""
        asked = stack, workflow
        if asked not in self._runs:
            self._runs[asked] = self._run_or_problem(*asked)
        found = self._runs[asked]
        if isinstance(found, Unusable):
            raise found.with_traceback(None)
        return found

    def workflow_name(self, number: int | None) -> str:
        """Return what a workflow is called: its query in quotes, or nothing without one."""
        return "" if number is None else repr(self._loaded.workflows[number].query.text)

    def access(self, policy: int | None) -> tuple[Access | None, int]:
        """Return who may do what by a policy, and its line. None: everybody without access control, else nobody."""
        if self._loaded.policies is None:
            return None, 0
        if policy is None:
            return _NOBODY, 0
        return self._loaded.policies[policy].access, self._loaded.policies[policy].line

    def review_rule(self, own: RootDeclaration, stack: str) -> tuple[ReviewRule, int]:
        """Return who reviews plans, and the line that says it: of the root's own section, of its stack, or none."""
        rule, line = self._said_rule(own, stack)
        rule = replace(rule, protected=self._stacks[stack].protected)
        return self._loaded.limits.reviewed(rule), line

    def _said_rule(self, own: RootDeclaration, stack: str) -> tuple[ReviewRule, int]:
        auto_apply = self._stacks[stack].auto_apply
        if own.reviewed:
            return own.review_rule, own.line
        if auto_apply is None:
            return own.review_rule, 0
        when = PlanReview.NEVER if auto_apply else PlanReview.ALWAYS
        return replace(own.review_rule, when=when), self._line_of(stack, lambda each: each.rules.auto_apply)

    def _line_of(self, stack: str, said: Callable[[StackDefinition], object]) -> int:
        """Return the line of the stack, or of its nearest stack group, that says something; 0 if none does."""
        declared = [self._declared[name] for name in self._around(stack)]
        return next((each.line for each in declared if said(each.definition) is not None), 0)

    def _around(self, stack: str) -> list[str]:
        """Return the stack and its stack groups, those that are declared."""
        return [name for name in (stack, *self._stacks[stack].within) if name in self._declared]

    def _workflow(self, number: int | None) -> DeclaredWorkflow | None:
        return None if number is None else self._loaded.workflows[number]

    def _run_or_problem(self, stack: str, number: int | None) -> tuple[RunSettings, dict[str, int]] | Unusable:
        """Return problems as well: to fill in what is too large takes long, and happens once for all roots."""
        try:
            return self._run(stack, number)
        except Unusable as problem:
            return problem

    def _run(self, stack: str, number: int | None) -> tuple[RunSettings, dict[str, int]]:
        workflow, hooks = self._workflow(number) or _USUAL, self._loaded.hooks
        line = workflow.lines.get(workflow.environment, workflow.line)
        settings = RunSettings(
            self._filled(workflow.environment, stack, line),
            tuple(self._variables[stack].items()),
            self._job(stack, hooks.plan_before, workflow, _steps(workflow.plan, PLAN_STEPS), hooks.plan_after),
            self._job(stack, hooks.apply_before, workflow, _steps(workflow.apply, APPLY_STEPS), hooks.apply_after),
            self._loaded.masks,
            self._loaded.clone,
        )
        problem = _oversized(settings) or plan_problem(settings.plan) or apply_problem(settings.apply)
        if problem:
            steps = f"its steps cannot run with the variables of the stack {quoted(stack)}"
            raise Unusable(workflow.line or hooks.line, f"{steps}: {problem}", _STEPS)
        return settings, self._sources(stack, workflow)

    def _job(
        self,
        stack: str,
        before: Sequence[WorkflowStep],
        workflow: DeclaredWorkflow,
        steps: Sequence[WorkflowStep],
        after: Sequence[WorkflowStep],
    ) -> tuple[WorkflowStep, ...]:
        """Return the steps of one kind of job, between those of the hooks."""
        hooks = self._loaded.hooks
        return (
            *self._filled_steps(before, stack, hooks),
            *self._filled_steps(steps, stack, workflow),
            *self._filled_steps(after, stack, hooks),
        )

    def _sources(self, stack: str, workflow: DeclaredWorkflow) -> dict[str, int]:
        lines = {
            f"variables.{name}": self._line_of(stack, partial(_variable, name))
            for name, _ in self._stacks[stack].variables
        }
        hooks = self._loaded.hooks
        before_and_after = {
            "plan": hooks.plan_before + hooks.plan_after,
            "apply": hooks.apply_before + hooks.apply_after,
        }
        steps = {
            kind: workflow.key_lines.get(kind) or (hooks.line if around else 0)
            for kind, around in before_and_after.items()
        }
        return {
            **lines,
            **steps,
            "environment": workflow.key_lines.get("environment", 0),
            "stack": self._declared[stack].line if stack in self._declared else 0,
            "workflow": workflow.line,
            "hooks": hooks.line,
        }

    def _filled_steps(
        self, steps: Sequence[WorkflowStep], stack: str, place: DeclaredWorkflow | Hooks
    ) -> tuple[WorkflowStep, ...]:
        try:
            return tuple(filled_step(step, self._variables[stack]) for step in steps)
        except UnsetVariable as unset:
            raise self._unset(unset, stack, place.lines.get(unset.text, place.line)) from None

    def _filled(self, text: str, stack: str, line: int) -> str:
        try:
            return filled(text, self._variables[stack])
        except UnsetVariable as unset:
            raise self._unset(unset, stack, line) from None

    def _unset(self, unset: UnsetVariable, stack: str, line: int) -> Unusable:
        return Unusable(line, f"{unset.problem} in the stack {quoted(stack)}", unset.allowed)

    def _engine(self, own: EngineText | None, stack: str, number: int | None) -> tuple[Engine, int]:
        """Return the engine of roots with an engine of their own in a stack, and the line that says it first."""
        workflow = self._workflow(number)
        around = self._around_of(stack, "engines", lambda each: each.engine)
        said = [own, *around, workflow and workflow.engine, self._loaded.engine_text]
        texts = [each for each in said if each and (each.name is not None or each.version is not None)]
        engine, line = self._nearest_engine(texts, stack), texts[0].line if texts else 0
        problem = self._loaded.limits.problem(engine)
        if problem:
            raise Unusable(max(line, 1), problem, "Choose one that the organization allows")
        return engine, line

    def _around_of(self, stack: str, what: str, said_by: Callable[[DeclaredStack], _Text | None]) -> Iterator[_Text]:
        """Yield what a stack and its stack groups say, the nearest first."""
        for names in ((stack,), *self._groups.around[stack]):
            texts = {name: said_by(self._declared[name]) for name in names if name in self._declared}
            said = {name: text for name, text in texts.items() if text}
            if len({replace(each, line=0) for each in said.values()}) > 1:
                raise _disagreeing(stack, what, {name: each.line for name, each in said.items()})
            yield from [*said.values()][:1]

    def _target(self, own: AwsText | None, stack: str) -> tuple[AwsTarget | None, int]:
        said = [own, *self._around_of(stack, "accounts (aws)", lambda each: each.aws), self._loaded.aws]
        texts = [each for each in said if each]
        if not texts:
            return None, 0
        text = reduce(AwsText.over, texts)
        try:
            target = aws_target(text.account, text.plan_role, text.apply_role, text.region, text.identity)
        except InvalidTarget as problem:
            raise Unusable(text.line, problem.problem, problem.allowed) from None
        return (target if target != AwsTarget() else None), text.line

    def _runner(self, own: RunnerText | None, stack: str) -> tuple[RunnerNeeds | None, int]:
        said = [own, *self._around_of(stack, "runners", lambda each: each.runner), self._loaded.runner]
        texts = [each for each in said if each]
        if not texts:
            return None, 0
        text = reduce(RunnerText.over, texts)
        if problem := size_problem(text.needs):
            raise Unusable(text.line, f"the runner: {problem[0]}", problem[1])
        return (text.needs if text.needs != RunnerNeeds() else None), text.line

    def _nearest_engine(self, texts: Sequence[EngineText], stack: str) -> Engine:
        """Return the engine that the first text says. A part that it leaves out is as the others say.

        A version is of one program: that of another one does not count.
        """
        if not texts:
            return self._loaded.engine
        nearest, *others = texts
        name = self._engine_name(texts, stack)
        if nearest.version is not None:
            return Engine(name, self._version(nearest.version, stack, nearest.line))
        same = name == self._engine_name(others, stack)
        return Engine(name, self._nearest_engine(others, stack).version if same else None)

    def _engine_name(self, texts: Sequence[EngineText], stack: str) -> EngineName:
        for each in texts:
            if each.name is not None:
                name = self._filled(each.name, stack, each.line)
                if name in set(EngineName):
                    return EngineName(name)
                raise Unusable(each.line, _in_stack(name, "engine", each.name, stack), _ENGINES)
        return self._loaded.engine.name

    def _version(self, text: str, stack: str, line: int) -> str:
        version = self._filled(text, stack, line)
        try:
            return exact_version(version)
        except PydanticCustomError:
            raise Unusable(line, _in_stack(version, "exact version", text, stack), _VERSIONS) from None


def _cloud_target(
    said: Sequence[CloudText | None], make: Callable[[Mapping[str, str]], _Target | None]
) -> tuple[_Target | None, int]:
    texts = [each for each in said if each]
    if not texts:
        return None, 0
    text = reduce(CloudText.over, texts)
    try:
        return make(dict(text.said)), text.line
    except IncompleteTarget as problem:
        raise Unusable(text.line, problem.problem, problem.allowed) from None


def _oversized(settings: RunSettings) -> str:
    size = len(json.dumps(asdict(settings), ensure_ascii=False).encode())
    return (
        f"with variables filled in they have {size} bytes, and the limit is {MOST_BYTES}" if size > MOST_BYTES else ""
    )


def _steps(said: tuple[WorkflowStep, ...] | None, usual: tuple[WorkflowStep, ...]) -> tuple[WorkflowStep, ...]:
    return usual if said is None else said


def _disagreeing(stack: str, what: str, lines: Mapping[str, int]) -> Unusable:
    names = " and ".join(quoted(name) for name in lines)
    problem = f"{names} set {what} differently, and {quoted(stack)} is in both"
    return Unusable(max(lines.values()), problem, f"Set it in {quoted(stack)} itself")


def _in_stack(value: str, kind: str, text: str, stack: str) -> str:
    """Return that a value is not of a kind, and what it was made of where."""
    return f"{quoted(value)}, the value of {quoted(text)} in the stack {quoted(stack)}, is not a valid {kind}"


def _variable(name: str, definition: StackDefinition) -> str | None:
    return dict(definition.variables).get(name)

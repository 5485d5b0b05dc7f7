"""Output of ``tidegate explain``, for people and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidegate.changes.rules.stack import Stack, StackRules
from tidegate.config.configured import ConfiguredRoot
from tidegate.deploys.rules.aws_target import ROLE_CHAINING, WEB_IDENTITY, Phase
from tidegate.deploys.rules.freeze import Freeze
from tidegate.deploys.rules.runner_size import cpu_text, duration_text, memory_text
from tidegate.deploys.rules.targets import AzureTarget, GoogleTarget
from tidegate.deploys.rules.workflow import StepKind, WorkflowStep
from tidegate.policies.rules.policy_set import PolicySet, sets_for
from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.access import Action
from tidegate_cli import screen
from tidegate_cli.stacks_presenter import rollout

if TYPE_CHECKING:
    from tidegate.config.loaded import LoadedConfiguration

_WHERE = "  "
_EVERYBODY = "everybody with write access"


@dataclass(frozen=True, slots=True)
class Explained:
    """A root in one of its stacks, the stack, its dependencies, and the whole configuration.

    ``modules`` are the directories of the local modules that it uses, ``why`` says why it is a root, ``required`` its
    engine version constraints.
    """

    one: ConfiguredRoot
    stack: Stack
    dependencies: Sequence[str]
    loaded: LoadedConfiguration
    modules: Sequence[str] = ()
    why: str = ""
    required: Sequence[str] = ()

    @property
    def freezes(self) -> list[Freeze]:
        """The freeze windows that are about the root."""
        return [each for each in self.loaded.freezes if each.matches(self.one.tagged)]

    @property
    def policy_sets(self) -> list[PolicySet]:
        """The policy sets that evaluate its plans."""
        names = sets_for(self.loaded.policy_sets, self.one.tagged)
        return [each for each in self.loaded.policy_sets if each.name in names]

    @property
    def requirements(self) -> Requirements | None:
        """What every apply requires; None where no check matches."""
        return self.loaded.required_of(self.one.tagged)


def shown(
    explained: Sequence[Explained],
    left_out: Mapping[str, str],
    refused: Mapping[str, str],
    no_roots: Mapping[str, str],
    file: str,
) -> Iterator[RenderableType]:
    """Yield what people read of roots: those in stacks, those in none, those that are refused; and of other modules."""
    if not file:
        yield screen.text("There is no tidegate.yaml: every directory that contains a root module is a root.", "dim")
    for each in explained:
        yield _root(each, file)
    for name, why in left_out.items():
        yield Group(screen.text(name, "bold"), screen.text(f"  · {why} It never runs."), Text())
    for name, why in refused.items():
        yield Group(screen.text(name, "bold"), screen.text(f"  ✘ {why}", "red"), Text())
    for place, why in no_roots.items():
        yield Text.assemble(screen.text(place, "bold"), screen.text(f"  is not a root. {why}"))
    if not (explained or left_out or refused):
        yield screen.text("No directory here contains a root module.")


def _root(each: Explained, file: str) -> RenderableType:
    one = each.one
    title = Text.assemble(screen.text(one.root.name, "bold"), screen.text(f"  in stack {one.stack}"))
    rows = [(label, value, line) for label, value, line in _rows(each) if value]
    width = max(len(label) for label, _, _ in rows) + 2
    lines = []
    for label, value, line in rows:
        where = screen.text(f"{_WHERE}{file}:{line}", "dim") if line else Text()
        lines.append(Text.assemble("  ", (label.ljust(width), "dim"), screen.text(value), where))
    return Group(title, *lines, Text())


def _rows(each: Explained) -> Iterator[tuple[str, str, int]]:
    """Yield what holds for a root: a label, what holds, and the line that says so, 0 for none."""
    one, stack, line = each.one, each.stack, each.one.sources.get
    within = f", within {', then '.join(stack.within)}" if stack.within else ""
    yield "A root", each.why, line("root", 0)
    yield "Directory", f"{one.root.dir}, workspace {one.root.workspace}", line("root", 0)
    yield "Stack", f"{stack.name}{within}{', and others' if one.shared else ''}", line("stack", 0)
    yield "Tags", " ".join(sorted(one.tagged.tags)), 0
    chosen = f"(by {one.engine_file})" if one.engine_file else ""
    engine = (one.root.engine.name.value, one.root.engine.version or _default(each.required), chosen)
    yield "Engine", " ".join(filter(None, engine)), 0 if chosen else line("engine", 0)
    yield "Account", _account(one), line("aws", 0)
    yield "Runner", _runner(one), line("runner", 0)
    yield "On Google Cloud", _cloud(one.run.google), line("google", 0)
    yield "On Azure", _cloud(one.run.azure), line("azure", 0)
    yield "Workflow", _workflow(one), line("workflow", 0)
    yield "Environment", one.run.environment, line("environment", 0)
    for name, value in one.run.variables:
        yield "Variable", f"{name}={value}", line(f"variables.{name.removeprefix('STACK_VAR_')}", 0)
    yield "Plan steps", _steps(one.run.plan), line("plan", 0)
    yield "Apply steps", _steps(one.run.apply), line("apply", 0)
    own = 0 if one.when_modified == each.loaded.when_modified else line("root", 0)
    yield "Changes with", ", ".join(one.when_modified), own
    yield "Its modules", _modules(each), 0
    yield "Depends on", _depends(each), line("root", 0)
    yield (
        "Destroyed",
        "when its directory is deleted, after a review (destroy: true)" if one.destroy else "",
        line("root", 0),
    )
    yield "By itself", "" if one.autoplan else "no: a merge does not deploy it (autoplan: false)", line("root", 0)
    yield "Planned after", _stacks(stack.plan_after), _rule_line(each, lambda rules: rules.plan_after)
    yield "Applied after", _stacks(stack.apply_after), _rule_line(each, lambda rules: rules.apply_after)
    yield "Pulled in by", _stacks(stack.modified_by, "a change of "), _rule_line(each, lambda rules: rules.modified_by)
    yield "Rolled out", rollout(stack.wave.max_concurrent, stack.wave.stop_on_failures, stack.soak), line("stack", 0)
    yield "Plan review", _review(one), line("plan_review", 0)
    yield from _rights(one)
    yield "Every apply", _required(each.requirements), _check_line(each)
    for held in each.policy_sets:
        yield (
            "Policy set",
            f"{held.name}{f', owned by {people}' if (people := ', '.join(held.owners)) else ''}",
            held.line,
        )
    for freeze in each.freezes:
        yield "Frozen", f"{freeze.words}{f': {freeze.reason}' if freeze.reason else ''}", freeze.line


def _account(one: ConfiguredRoot) -> str:
    """Return which account and roles the engine works with, as far as the file says it."""
    aws = one.run.aws
    if aws is None:
        return ""
    region = f"region {aws.region}" if aws.region else ""
    roles = f"{aws.account}, planned by {aws.plan_role}, applied by {aws.apply_role}" if aws.account else ""
    way = "by the job's token" if aws.web_identity else ""
    allowed = "if the installation allows these roles for the repository" if roles else ""
    return ", ".join(filter(None, (roles, way, region, allowed)))


def _cloud(target: GoogleTarget | AzureTarget | None) -> str:
    """Return what jobs become in another cloud, as far as the file says it."""
    if target is None:
        return ""
    who = f"plans as {target.role(Phase.PLAN)}, applies as {target.role(Phase.APPLY)}"
    return f"{who}, by the job's token, if the installation allows them for the repository"


def _runner(one: ConfiguredRoot) -> str:
    """Return what the file asks of its runner, as far as it says it."""
    needs = one.run.runner
    if needs is None:
        return ""
    said = (
        (needs.cpu, f"{cpu_text(needs.cpu)} vCPU"),
        (needs.memory, f"{memory_text(needs.memory)} memory"),
        (needs.disk, f"{needs.disk} GB disk"),
        (needs.architecture, needs.architecture),
        (needs.apply_seconds, f"{duration_text(needs.apply_seconds)} for the apply"),
    )
    return f"{', '.join(text for value, text in said if value)}, if the installation allows it"


def _default(required: Sequence[str]) -> str:
    """Return which version an engine has where nothing names one, and that a range does not."""
    ignored = f"; required_version {', '.join(required)} is not one version: set engine.version" if required else ""
    return f"in the installation's default version{ignored}"


def _rule_line(each: Explained, said: Callable[[StackRules], object]) -> int:
    """Return the line of the stack, or of its nearest stack group, that has a rule."""
    declared = {one.definition.name: one for one in each.loaded.stacks}
    around = [declared[name] for name in (each.stack.name, *each.stack.within) if name in declared]
    return next((one.line for one in around if said(one.definition.rules)), 0)


def _check_line(each: Explained) -> int:
    """Return the line of the check that says what applies require."""
    return next((check.line for check in each.loaded.checks or () if check.query.matches(each.one.tagged)), 0)


def _stacks(names: Sequence[str] | frozenset[str], words: str = "") -> str:
    return f"{words}{', '.join(sorted(names))}" if names else ""


def _workflow(one: ConfiguredRoot) -> str:
    return "every root (tag_query '')" if one.workflow == "''" else one.workflow or "the default steps"


def _steps(steps: Sequence[WorkflowStep]) -> str:
    usual = {StepKind.INIT, StepKind.PLAN, StepKind.APPLY}
    return "; ".join(
        shlex.join((step.kind.value, *step.extra_args))
        if step.kind in usual
        else shlex.join(filter(None, (step.kind.value, step.name, *step.command)))
        for step in steps
    )


def _modules(each: Explained) -> str:
    names = ", ".join(each.modules)
    follows = each.one.follow_modules
    return names if follows or not names else f"{names}; their changes do not run it (follow_modules: false)"


def _depends(each: Explained) -> str:
    if each.one.depends_on is None:
        return ""
    found = ", ".join(each.dependencies) or "no root of its stack"
    return f"{each.one.depends_on.text}: {found}"


def _review(one: ConfiguredRoot) -> str:
    rule = one.review_rule
    words = {
        "always": "plans with changes wait",
        "manual": "plans of manual deployments wait",
        "never": "applied without a review",
    }
    people = f", for {rule.approvals} people" if rule.approvals > 1 else ""
    authors = ", authors excluded" if rule.exclude_authors else ""
    return f"{words[rule.when.value]}{people}{authors}"


def _rights(one: ConfiguredRoot) -> Iterator[tuple[str, str, int]]:
    line = one.sources.get("access", 0)
    if one.access is None:
        return
    if one.access.denied:
        yield "Rights", one.access.denied, line
        return
    for action in Action:
        who = ", ".join(one.access.who_may(action)) or "nobody"
        yield f"May {action.value}", _EVERYBODY if who == "*" else who, line


def _required(requirements: Requirements | None) -> str:
    if requirements is None:
        return "waits for an operator: no check of apply_requirements matches it"
    return f"requires {requirements.words}" if requirements.words else ""


def document(each: Explained) -> dict[str, Any]:
    """Return what holds for a root as JSON has it."""
    one, stack = each.one, each.stack
    return {
        "name": one.root.name,
        "directory": one.root.dir,
        "workspace": one.root.workspace,
        "root_because": each.why,
        "stack": one.stack,
        "within": list(stack.within),
        "in_several_stacks": one.shared,
        "tags": sorted(one.tagged.tags),
        "engine": {
            "name": one.root.engine.name.value,
            "version": one.root.engine.version,
            "file": one.engine_file or None,
        },
        "aws": _aws(one),
        "runner": asdict(one.run.runner) if one.run.runner else None,
        "google": asdict(one.run.google) if one.run.google else None,
        "azure": asdict(one.run.azure) if one.run.azure else None,
        "workflow": one.workflow or None,
        "environment": one.run.environment or None,
        "variables": dict(one.run.variables),
        "plan_steps": [_steps([step]) for step in one.run.plan],
        "apply_steps": [_steps([step]) for step in one.run.apply],
        "when_modified": list(one.when_modified),
        "autoplan": one.autoplan,
        "destroy": one.destroy,
        "modules": list(each.modules),
        "follow_modules": one.follow_modules,
        "depends_on": one.depends_on.text if one.depends_on else None,
        "dependencies": list(each.dependencies),
        "plan_after": sorted(stack.plan_after),
        "apply_after": sorted(stack.apply_after),
        "modified_by": sorted(stack.modified_by),
        "plan_review": {
            "when": one.review_rule.when.value,
            "approvals": one.review_rule.approvals,
            "exclude_authors": one.review_rule.exclude_authors,
        },
        "access": _access(one),
        "requirements": _required(each.requirements),
        "policy_sets": [
            {"name": held.name, "owners": list(held.owners), "line": held.line} for held in each.policy_sets
        ],
        "freezes": [{"when": window.words, "reason": window.reason, "line": window.line} for window in each.freezes],
        "lines": {name: line for name, line in one.sources.items() if line},
    }


def _aws(one: ConfiguredRoot) -> dict[str, str | None] | None:
    aws = one.run.aws
    if aws is None:
        return None
    said = {"account": aws.account, "plan_role": aws.plan_role, "apply_role": aws.apply_role, "region": aws.region}
    way = {"identity": WEB_IDENTITY if aws.web_identity else ROLE_CHAINING} if aws.account else {}
    return {name: value or None for name, value in {**said, **way}.items()}


def _access(one: ConfiguredRoot) -> dict[str, Any] | None:
    if one.access is None:
        return None
    who: dict[str, Any] = {action.value: list(one.access.who_may(action)) for action in Action}
    return who | {"denied": one.access.denied or None}

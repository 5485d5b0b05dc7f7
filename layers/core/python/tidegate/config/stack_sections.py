"""The stacks, workflows, hooks and policies that a file declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from tidegate.changes.rules.stack import StackDefinition, examine_stacks
from tidegate.config.declarations import (
    DeclaredPolicy,
    DeclaredStack,
    DeclaredWorkflow,
    Drift,
    DriftSchedule,
    Hooks,
)
from tidegate.config.model.branches import DriftSection
from tidegate.config.model.rights import AccessSection
from tidegate.config.model.stacks import StackSection, StacksSection
from tidegate.config.model.workflows import HooksSection, WorkflowSection
from tidegate.config.refusals import refusal_of_stacks
from tidegate.config.substitution import has_variables
from tidegate.deploys.rules.workflow import WorkflowStep
from tidegate.documents.document import KEY, Document, Path
from tidegate.rules.errors import InvalidConfiguration

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def declared_stacks(
    document: Document, section: StacksSection
) -> tuple[tuple[DeclaredStack, ...], list[InvalidConfiguration]]:
    """Return the stacks in the file's order, and what contradicts itself in them."""
    refusals = [refusal for name, each in section.names.items() for refusal in _collisions(document, name, each)]
    stacks = tuple(_stack(document, name, each) for name, each in section.names.items())
    if not refusals:
        mistakes, _ = examine_stacks([each.definition for each in stacks])
        refusals = [refusal_of_stacks(document, mistake) for mistake in mistakes]
    return stacks, refusals


def _stack(document: Document, name: str, section: StackSection) -> DeclaredStack:
    path: Path = ("stacks", "names", name)
    definition = StackDefinition(
        name,
        tuple(dict.fromkeys(section.stacks or ())),
        tuple((variable.upper(), value) for variable, value in section.variables.items()),
        rules=section.stack_rules,
        run_strategy=section.on_change.run_strategy,
    )
    engine = written(document, (*path, "engine"), section.engine)
    aws = written(document, (*path, "aws"), section.aws)
    runner = written(document, (*path, "runner"), section.runner)
    google = written(document, (*path, "google"), section.google)
    azure = written(document, (*path, "azure"), section.azure)
    line = document.place((*path, KEY))[0]
    return DeclaredStack(definition, section.tag_query, line, engine, aws, runner, google, azure)


def _collisions(document: Document, stack: str, section: StackSection) -> Iterator[InvalidConfiguration]:
    first: dict[str, str] = {}
    for name in section.variables:
        path: Path = ("stacks", "names", stack, "variables")
        other = first.setdefault(name.upper(), name)
        if other != name:
            line = document.place((*path, other, KEY))[0]
            problem = f"the variables {other!r} (line {line}) and {name!r} both become STACK_VAR_{name.upper()}"
            yield document.refusal((*path, name, KEY), problem, "Rename one of them")


class _Written(Protocol[T_co]):
    """A section that is kept as written."""

    def text(self, line: int) -> T_co:
        """Return what it says, in which line."""


def written(document: Document, path: Path, section: _Written[T] | None) -> T | None:
    """Return a section as written, None where there is none."""
    return section.text(document.place((*path, KEY))[0]) if section else None


def declared_workflows(document: Document, sections: Sequence[WorkflowSection]) -> tuple[DeclaredWorkflow, ...]:
    """Return the workflows in the file's order."""
    return tuple(_workflow(document, ("workflows", number), each) for number, each in enumerate(sections))


def _workflow(document: Document, path: Path, section: WorkflowSection) -> DeclaredWorkflow:
    return DeclaredWorkflow(
        section.tag_query,
        document.place(path)[0],
        section.environment or "",
        written(document, (*path, "engine"), section.engine),
        None if section.plan is None else tuple(each.step for each in section.plan),
        None if section.apply is None else tuple(each.step for each in section.apply),
        lines_of_variables(document, path),
        {key: document.place((*path, key, KEY))[0] for key in section.model_fields_set},
    )


def declared_hooks(document: Document, section: HooksSection) -> Hooks:
    """Return the hooks of each kind of job, those of all kinds first."""

    def steps(*names: tuple[str, str]) -> tuple[WorkflowStep, ...]:
        lists = (getattr(getattr(section, kind), when) for kind, when in names)
        return tuple(each.step for found in lists for each in found)

    written = ("hooks", KEY) in document.places
    return Hooks(
        steps(("all", "pre"), ("plan", "pre")),
        steps(("all", "post"), ("plan", "post")),
        steps(("all", "pre"), ("apply", "pre")),
        steps(("all", "post"), ("apply", "post")),
        document.place(("hooks", KEY))[0] if written else 0,
        lines_of_variables(document, ("hooks",)),
    )


def lines_of_variables(document: Document, path: Path) -> Mapping[str, int]:
    """Return the line of each text below a path that names stack variables: the first, if there are several."""
    lines: dict[str, int] = {}
    for place, text in _texts(document, path):
        if has_variables(text):
            lines.setdefault(text, document.place(place)[0])
    return lines


def _texts(document: Document, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield all texts at or below a path, in the order of the file."""
    content = document.content
    for part in path:
        content = content.get(part) if isinstance(content, dict) and isinstance(part, str) else content[part]
        if content is None:
            return
    ahead = [(path, content)]
    while ahead:
        place, value = ahead.pop()
        if isinstance(value, str):
            yield place, value
        elif value is not None:
            parts: Iterable[tuple[str | int, object]] = value.items() if isinstance(value, dict) else enumerate(value)
            ahead += reversed([((*place, part), inner) for part, inner in parts])


def declared_policies(document: Document, section: AccessSection | None) -> tuple[DeclaredPolicy, ...] | None:
    """Return the policies in the file's order, None without access control."""
    if section is None or not section.enabled or section.policies is None:
        return None
    return tuple(
        DeclaredPolicy(each.tag_query, each.access, document.place(("access_control", "policies", number))[0])
        for number, each in enumerate(section.policies)
    )


def declared_drift(document: Document, section: DriftSection | None) -> Drift:
    """Return when roots are checked for drift."""
    if section is None:
        return Drift()
    schedules = tuple(
        DriftSchedule(
            name,
            each.tag_query,
            each.schedule,
            each.reconcile,
            each.window.window if each.window else None,
            document.place(("drift", "schedules", name, KEY))[0],
            each.report,
        )
        for name, each in section.schedules.items()
    )
    return Drift(section.enabled, schedules)

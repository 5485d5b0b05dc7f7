"""Workflows of other tools, by their names: each for the roots that have its tag, ``default`` for all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidegate.documents.document import Path
from tidegate_cli.converting.draft import Draft, Whole
from tidegate_cli.converting.projects import Project
from tidegate_cli.converting.reading import Section
from tidegate_cli.converting.steps import Step, add_job

_PLAINLY = "planned and applied with the engine's default init, plan and apply"
#: The steps of a plan and of an apply; None where those count that every workflow has.
Jobs = tuple[list[Step] | None, list[Step] | None]


def tag_of(draft: Draft, path: Path, one: Project, name: str, workflows: Mapping[str, Section]) -> list[str]:
    """Return the tags of a project by its workflow's name, and tell of a workflow that the file does not have."""
    if not name:
        return []
    if name not in workflows and name != "default":
        text = f"project {one.label}: workflow {name} is not in this file. {_until(name, workflows, 'its root is')}"
        draft.ledger.lost(path, text, f"workflows.{name}")
    return [f"workflow_{name}"]


def add_workflows(
    draft: Draft, workflows: Mapping[str, Section], projects: Sequence[Project], jobs: Callable[[str, Section], Jobs]
) -> None:
    """Add workflows by name, with what ``jobs`` makes of each."""
    found: list[dict[str, Any]] = []
    for name in sorted(workflows, key=lambda name: name == "default"):
        at: Path = ("workflows", len(found))
        draft.origins[at] = workflows[name].path
        without = _without(name, workflows, projects)
        draft.wholes[at] = Whole(f"workflow {name}", without, f"workflows.{name}")
        made: dict[str, Any] = {"tag_query": "" if name == "default" else f"workflow_{name}"}
        for job, steps in zip(("plan", "apply"), jobs(name, workflows[name]), strict=True):
            if steps is not None:
                add_job(draft, at, made, job, steps)
        found.append(made)
    if found:
        draft.content["workflows"] = found


def _without(name: str, workflows: Mapping[str, Any], projects: Sequence[Project]) -> str:
    """Return what happens if a workflow is not carried over, with the names of its roots."""
    if name == "default":
        return f"Until you write one with tag_query: '', roots without a workflow are {_PLAINLY}."
    roots = ", ".join(each.label for each in projects if f"workflow_{name}" in each.tags)
    return _until(name, workflows, f"its roots ({roots}) are" if roots else "its roots are")


def _until(name: str, workflows: Mapping[str, Any], roots: str) -> str:
    """Return what happens to the roots of a workflow that is not carried over, as a sentence."""
    how = "planned and applied with the workflow default" if "default" in workflows else _PLAINLY
    return f"Until you write one with tag_query: workflow_{name}, {roots} {how}."

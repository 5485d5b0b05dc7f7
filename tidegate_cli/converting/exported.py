"""Common parts of service exports: roots of one repository, their states, variables and reviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate_cli.converting.draft import Draft
from tidegate_cli.converting.projects import Project
from tidegate_cli.converting.reading import Section
from tidegate_cli.converting.steps import Step, add_job
from tidegate_cli.problems import Refused

_CHARACTERS = 200


def one_repository(names: Sequence[str], asked: str | None, file: str) -> str:
    """Return the repository whose roots are meant. Raise Refused where the export has several, or not that one."""
    known = sorted({name for name in names if name})
    if asked is None and len(known) <= 1:
        return known[0] if known else ""
    found = [name for name in known if asked is not None and name.lower() == asked.lower()]
    if found:
        return found[0]
    shown = ", ".join(known)[:_CHARACTERS] or "none"
    what = f"nothing of {asked}" if asked else "roots of several repositories"
    raise Refused(f"{file} has {what}. Its repositories: {shown}.", "Choose one: --repository OWNER/NAME")


def states_stay(draft: Draft, where: str, *, at: tuple[str | int, ...] = ()) -> None:
    """Tell that states must be moved before the first deploy: without them, everything would be created anew."""
    text = (
        f"the states are in {where}. Give each module a backend and move its state there before the first deploy: "
        "without it, everything would be created a second time."
    )
    draft.ledger.lost(at, text, "states")


def reviewed(section: Section, key: str, one: Project) -> None:
    """Say whether plans of merges wait for somebody."""
    applies = section.flag(key)
    one.more["plan_review"] = "manual" if applies else "always"
    if applies:
        section.ledger.changed(
            section.at(key), f"{key}: plan_review: manual, so that plans of merges do not wait for a review."
        )


def add_workflow(draft: Draft, one: Project, plan: Sequence[Step], apply: Sequence[Step] | None) -> None:
    """Add the workflow that one root has for itself."""
    found = draft.content.setdefault("workflows", [])
    at = ("workflows", len(found))
    made: dict[str, Any] = {"tag_query": f"name:{one.name}"}
    draft.origins[at] = one.path
    add_job(draft, at, made, "plan", plan)
    if apply is not None:
        add_job(draft, at, made, "apply", apply)
    found.append(made)


def with_variables(steps: Sequence[Step], values: Mapping[str, str]) -> list[Step]:
    """Return steps that see variables, too."""
    escaped = {name: value.replace("$", "$$") for name, value in values.items()}
    return [Step({**each.made, **({"env": escaped} if values else {})}, each.path, each.options) for each in steps]

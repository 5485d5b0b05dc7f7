"""Roots of other tools' projects: names, directories, order, and requirements and workflows asked for by tags."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.documents.document import Path
from tidegate.roots.rules.root import root_name
from tidegate.rules.errors import InvalidName
from tidegate_cli.converting.draft import Draft

_EXACT = re.compile(r"v?([0-9]{1,4}\.[0-9]{1,4})(\.[0-9]{1,4}(?:-[0-9A-Za-z.]{1,30})?)?")
#: What a glob of directories of another tool may hold besides ``*``, which is all that Tidegate knows.
_NO_GLOB = re.compile(r"[?\[\]{}!\\]")
_SAME_STATE = (
    "Tidegate has one root per directory and workspace, as they share a state. Give each a workspace of its own, "
    "or declare one root that is in several stacks (docs/stacks.md)"
)


@dataclass(slots=True)
class Project:
    """A root to be: where it is from, and what is known of it."""

    path: Path
    name: str
    dir: str
    workspace: str = "default"
    tags: list[str] = field(default_factory=list)
    when: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, str] = field(default_factory=dict)
    depends_on: Sequence[str] = ()
    depends_on_path: Path = ()
    order: int = 0
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.name or self.dir


def clean_directory(draft: Draft, path: Path, written: str) -> str | None:
    """Return a directory from the repository's top; None for one that lies outside, or cannot be told."""
    cleaned = posixpath.normpath(f"./{written.strip()}")
    if cleaned == ".." or cleaned.startswith("../"):
        draft.ledger.lost(path, f"{written}: it is outside of the repository.")
        return None
    if _NO_GLOB.search(cleaned):
        draft.ledger.lost(path, f"{written}: directory patterns support only * and **.")
        return None
    if cleaned.lstrip("./") != written.strip("./ "):
        draft.ledger.changed(path, f"{written} is {cleaned}.")
    elif written.startswith("/"):
        draft.ledger.changed(path, f"{written} is {cleaned}, from the repository's top.")
    return cleaned


def usable_name(draft: Draft, path: Path, written: str) -> str:
    """Return a name that a root may have: the same, or as near as possible."""
    try:
        return root_name(written) if written else ""
    except InvalidName:
        name = re.sub(r"[^A-Za-z0-9._/-]+", "-", written)
        name = "/".join(part.strip(".-") or "_" for part in name.split("/"))[:100].rstrip("/.-") or "_"
        draft.ledger.changed(path, f"{written[:100]} is named {name}: names have letters, digits, '.', '_', '-', '/'.")
        return name


def engine_version(draft: Draft, path: Path, written: str) -> str | None:
    """Return an exact version; None, and told, where there is none."""
    exact = _EXACT.fullmatch(written.strip().removeprefix("=").strip())
    if exact is None:
        text = f"{written[:100]}: Tidegate needs an exact version: a newer one may upgrade the state irreversibly."
        draft.ledger.lost(path, text)
        return None
    version = exact[1] + (exact[2] or ".0")
    if version != written:
        draft.ledger.changed(path, f"{written} is {version}.")
    return version


def add_projects(draft: Draft, projects: Sequence[Project], noun: str = "projects") -> None:
    """Add a root for each project, in stacks where an order between them needs any."""
    first: dict[tuple[str, str], Project] = {}
    for each in projects:
        first.setdefault((each.dir, each.workspace), each)
    kept = [each for each in projects if _is_first(draft, each, first[each.dir, each.workspace], noun)]
    _in_order(draft, kept)
    _depending(draft, kept)
    several = {each.dir for each in kept if each.workspace != "default"}
    several |= {place for place, count in Counter(each.dir for each in kept).items() if count > 1}
    dirs: dict[str, Any] = {}
    for each in kept:
        root = _root(each)
        if each.dir in several:
            dirs.setdefault(each.dir, {"workspaces": {}})["workspaces"][each.workspace] = root
            draft.origins["dirs", each.dir, "workspaces", each.workspace] = each.path
        else:
            dirs[each.dir] = root
        draft.origins.setdefault(("dirs", each.dir), each.path)
    if dirs:
        draft.content["dirs"] = dirs


def _is_first(draft: Draft, one: Project, first: Project, noun: str) -> bool:
    if first is one:
        return True
    text = f"{one.label}: {one.dir} has a root in the workspace {one.workspace} already, {first.label}. {_SAME_STATE}."
    draft.ledger.lost(one.path, text, f"{noun}.{one.label}")
    return False


def _root(one: Project) -> dict[str, Any]:
    root: dict[str, Any] = {"name": one.name} if one.name and "*" not in one.dir else {}
    parts = {"tags": one.tags, "when_modified": one.when, "engine": one.engine}
    return root | {key: value for key, value in parts.items() if value} | one.more


def _in_order(draft: Draft, projects: Sequence[Project]) -> None:
    """Put projects that are applied after each other into stacks with gates between them."""
    orders = sorted({each.order for each in projects})
    if len(orders) <= 1:
        return
    names: dict[str, Any] = {}
    for before, order in zip([None, *orders], orders, strict=False):
        rules = {} if before is None else {"rules": {"apply_after": [f"order_{before}"]}}
        names[f"order_{order}"] = {"tag_query": f"order_{order}", **rules}
    draft.content["stacks"] = {"names": names}
    for each in projects:
        each.tags.append(f"order_{each.order}")


def _depending(draft: Draft, projects: Sequence[Project]) -> None:
    """Say on which roots a root depends. Those of a stack before it are applied before it anyway."""
    known = {each.name: each for each in projects if each.name}
    for one in projects:
        same = []
        for name in one.depends_on:
            other = known.get(name)
            if other is None:
                draft.ledger.lost(one.depends_on_path, f"{name}: this project does not exist.")
            elif other.order > one.order:
                draft.ledger.lost(one.depends_on_path, f"{name}: its group already orders it later.")
            elif other.order == one.order:
                same.append(name)
            elif other is not one:
                text = f"{name}: order_{one.order} already comes after order_{other.order}."
                draft.ledger.changed(one.depends_on_path, text)
        if same:
            text = "depends_on: it orders roots as before. A change of a dependency now also runs the root."
            draft.ledger.changed(one.depends_on_path, text)
            one.when["depends_on"] = " or ".join(f"name:{name}" for name in same)


@dataclass(slots=True)
class Requirements:
    """What sorts of projects require, by the tag that asks for it."""

    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def tag(self, names: Iterable[str], required: Mapping[str, Any]) -> str:
        """Return the tag of projects that require something."""
        tag = f"requires_{'_'.join(sorted(names)) or 'nothing'}"
        self.found[tag] = dict(required)
        return tag

    def add_to(self, draft: Draft, rest: Mapping[str, Any]) -> None:
        """Add them to a draft; ``rest`` is what all others require."""
        if self.found:
            checks = [{"tag_query": tag, **required} for tag, required in self.found.items()]
            draft.content["apply_requirements"] = {"checks": [*checks, {"tag_query": "", **rest}]}


#: What is required where nobody says what: as Tidegate requires by itself where changes are applied in pull requests.
STRICT: Mapping[str, Any] = {
    "approved": {"any_of_count": "1"},
    "merge_conflicts": {"enabled": "true"},
    "undiverged": {"enabled": "true"},
}


def required(wanted: Iterable[str]) -> dict[str, Any]:
    """Return a check of what Atlantis and Digger call approved, mergeable and undiverged."""
    names = set(wanted)
    found: dict[str, Any] = {}
    if names & {"approved", "mergeable"}:
        found["approved"] = {"any_of_count": "1"}
    if "mergeable" in names:
        found |= {"merge_conflicts": {"enabled": "true"}, "status_checks": {"enabled": "true"}}
    return found | {"undiverged": {"enabled": "true" if "undiverged" in names else "false"}}


MERGEABLE = (
    "mergeable: Tidegate requires no conflicts and passed checks, but ignores other branch protection rules, so an "
    "approval is required, too. Set how many approvals the branch protection requires."
)

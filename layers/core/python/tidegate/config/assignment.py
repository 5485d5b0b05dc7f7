"""A root's own configuration, and its stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.config.declarations import DeclaredGlob, DeclaredStack, RootDeclaration
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.model.file import FILE
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.root_index import TagIndex
from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import Tagged, directory_fits, tagged
from tidegate.rules.errors import quoted

#: Tags that roots get from their stacks and branches, so queries of stacks never match them.
_LATE = ("stack_name:", "branch:", "dest_branch:")


class Declarations:
    """Finds a root's own configuration: its own section beats globs, of which the longest wins."""

    def __init__(self, loaded: LoadedConfiguration) -> None:
        self._loaded = loaded
        self._globs = sorted(loaded.globs, key=lambda each: -len(each.pattern))
        self._of_directory: dict[tuple[str, str], RootDeclaration | None] = {}

    def of(self, root: Root) -> RootDeclaration:
        """Return a root's own configuration, or else the defaults."""
        return self._loaded.declarations.get(root.name) or self._fitting(root) or self._loaded.defaults

    def _fitting(self, root: Root) -> RootDeclaration | None:
        place = root.dir, root.workspace
        if place not in self._of_directory:
            fitting = (each.declaration for each in self._globs if _concerns(each, *place))
            self._of_directory[place] = next(fitting, None)
        return self._of_directory[place]


def _concerns(glob: DeclaredGlob, directory: str, workspace: str) -> bool:
    return (glob.workspace or "default") == workspace and directory_fits(glob.pattern, directory)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The stacks of each root, by location; and by name, why some are in none.

    ``refused`` need a corrected configuration, ``left_out`` are excluded by it; ``several`` has the stacks of those
    that are refused for being in several.
    """

    stacks: Sequence[Sequence[str]]
    refused: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    several: Mapping[str, Sequence[str]] = field(default_factory=dict)


def assign(loaded: LoadedConfiguration, roots: Sequence[Root], declarations: Sequence[RootDeclaration]) -> Assignment:
    """Return the stacks of roots, by their own tags: they have no tags of stacks or branches yet."""
    if not loaded.stacks:
        return Assignment([(DEFAULT_STACK,)] * len(roots))
    matching = _matching(loaded.stacks, [tagged(root, own.tags) for root, own in zip(roots, declarations, strict=True)])
    refused, left_out, several = {}, {}, {}
    declared_default = next((each for each in loaded.stacks if each.definition.name == DEFAULT_STACK), None)
    found: list[Sequence[str]] = []
    for root, stacks in zip(roots, matching, strict=True):
        names = [each.definition.name for each in stacks]
        if len(stacks) > 1 and not loaded.several:
            refused[root.name] = _in_several(root, stacks)
            several[root.name], names = names, []
        elif not stacks and declared_default:
            left_out[root.name] = _in_none(declared_default)
        elif not stacks:
            names = [DEFAULT_STACK]
        found.append(names)
    return Assignment(found, refused, left_out, several)


def _matching(stacks: Sequence[DeclaredStack], items: Sequence[Tagged]) -> list[list[DeclaredStack]]:
    """Return the leaves that match each item."""
    found: list[list[DeclaredStack]] = [[] for _ in items]
    index = TagIndex(items)
    for stack in stacks:
        if stack.query is not None:
            for position in index.matching(stack.query):
                found[position].append(stack)
    return found


def _in_several(root: Root, stacks: Sequence[DeclaredStack]) -> str:
    names = " and ".join(f"{quoted(each.definition.name)} ({FILE}:{each.line})" for each in stacks)
    advice = "Change their tag queries so that only one matches, or set stacks.allow_workspace_in_multiple_stacks: true"
    if any(each.definition.name == DEFAULT_STACK and each.query and not each.query.text.strip() for each in stacks):
        advice = (
            f"The stack {DEFAULT_STACK!r} matches every root, because its tag query is empty. Remove this stack from "
            "the file: Tidegate then adds it by itself, with the roots that are in no other stack"
        )
    place = f"directory {quoted(root.dir)}, workspace {quoted(root.workspace)}"
    return f"It ({place}) matches several stacks, {names}. {advice}."


def _in_none(default: DeclaredStack) -> str:
    return (
        f"It is in no stack. No tag query of a stack matches it, and because the stack {DEFAULT_STACK!r} is declared "
        f"({FILE}:{default.line}), that stack does not get the remaining roots automatically."
    )


def late_tags(query: TagQuery) -> str | None:
    """Return the warning for a stack's query with tags that roots get only from their stack; None without such tags."""
    late = next((tag for tag in query.tags if tag.startswith(_LATE)), None)
    if late is None:
        return None
    return (
        f"The tag {quoted(late)} matches no root here, because Tidegate adds it after it has assigned roots to "
        "stacks. Query the roots' own tags, or dir:, workspace: or name:."
    )

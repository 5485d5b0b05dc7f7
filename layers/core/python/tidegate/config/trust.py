"""What holds for roots of a pull request's head: all that grants or demands is as the default branch's file says it.

A pull request could otherwise give itself rights, or take a gate away, in a file that nobody has approved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.resolution import configure
from tidegate.domain.access import Access
from tidegate.domain.changes.change_set import Key
from tidegate.domain.deploys.review_rule import ReviewRule
from tidegate.domain.errors import quoted
from tidegate.domain.pull_requests.requirements import Requirements
from tidegate.domain.root import Root
from tidegate.domain.tags.terms import Tagged

_BRANCH = "branch:"


@dataclass(frozen=True, slots=True)
class Trusted:
    """Roots in their stacks, and all that deploys of each by hand require; None where no check matches."""

    configured: ConfiguredRoots
    requirements: Mapping[Key, tuple[Requirements, ...] | None]


def trusted(
    loaded: LoadedConfiguration, known: Iterable[Root], roots: Iterable[Root], branch: str = "", dest_branch: str = ""
) -> Trusted:
    """Return what the default branch's file, ``loaded``, says of ``roots`` of another commit.

    ``known`` are all roots of the default branch. A root that is not among these by its name and place may be any of
    them, renamed, moved or copied, with the same state: whatever holds for one of them holds for it, so that the
    strictest counts. One that has the name or the place of a root in another stack is refused, as it would leave its
    gates behind. ``branch`` and ``dest_branch`` are as in ``configure``; as who pushes chooses a branch's name, access
    and requirements are the strictest of those with its tag and without.
    """
    configured = _whatever_branch(loaded, tuple(roots), branch, dest_branch)
    others = _Others(loaded, _whatever_branch(loaded, tuple(known), branch, dest_branch).roots)
    stacks: dict[Root, set[str]] = {}
    for each in configured.roots:
        stacks.setdefault(each.root, set()).add(each.stack)
    refused, judged = dict(configured.refused), []
    for each in configured.roots:
        problem = others.conflict(each.root, stacks[each.root])
        if problem:
            refused[each.root.name] = problem
        else:
            judged.append(each if others.has(each) else others.strictest(each))
    required = {each.key: others.required(each) for each in judged}
    return Trusted(replace(configured, roots=tuple(judged), refused=refused), required)


def _whatever_branch(
    loaded: LoadedConfiguration, roots: Sequence[Root], branch: str, dest_branch: str
) -> ConfiguredRoots:
    """Return the roots with the access that somebody has with the tag of ``branch`` and without it."""
    configured = configure(loaded, roots, branch, dest_branch)
    if loaded.policies is None or not loaded.branch_tags:
        return configured
    untagged = {each.key: each.access for each in configure(loaded, roots, "", dest_branch).roots}
    judged = (replace(each, access=_both(each.access, untagged.get(each.key, _NOBODY))) for each in configured.roots)
    return replace(configured, roots=tuple(judged))


#: The access of a root that cannot be used without the tag of its branch.
_NOBODY = Access((), (), (), (), denied="it is refused without the tag of its branch")


def _both(one: Access | None, other: Access | None) -> Access | None:
    return one.and_also(other) if one and other else one or other


class _Others:
    """The roots of the default branch in their stacks, as those that a root of another commit may be."""

    def __init__(self, loaded: LoadedConfiguration, known: Sequence[ConfiguredRoot]) -> None:
        self._loaded, self._known = loaded, known
        self._places = {_identity(each.root) for each in known}
        self._by_name: dict[str, list[ConfiguredRoot]] = {}
        self._by_place: dict[tuple[str, str], list[ConfiguredRoot]] = {}
        for each in known:
            self._by_name.setdefault(each.root.name, []).append(each)
            self._by_place.setdefault((each.root.dir, each.root.workspace), []).append(each)

    def has(self, each: ConfiguredRoot) -> bool:
        """Tell whether the default branch has this root, by its name and in its place."""
        return _identity(each.root) in self._places

    def conflict(self, root: Root, stacks: Collection[str]) -> str:
        """Return why a root cannot be judged: it is one of another stack, under another name or in another place."""
        if _identity(root) in self._places:
            return ""
        same = next((other for other in self._same(root) if other.stack not in stacks), None)
        if same is None:
            return ""
        return (
            f"Root {quoted(root.name)} (directory {quoted(root.dir)}) is root {quoted(same.root.name)} "
            f"(directory {quoted(same.root.dir)}) on the default branch, in the stack {quoted(same.stack)}, whose "
            "gates it would leave behind. Merge its new name or place first; the merge deploys it."
        )

    def strictest(self, each: ConfiguredRoot) -> ConfiguredRoot:
        """Return a root that the default branch does not have, under all rules that its roots are under."""
        rule = reduce(ReviewRule.and_also, self._rules, each.review_rule)
        access = reduce(Access.and_also, self._accesses, each.access) if each.access else None
        return replace(each, review_rule=rule, access=access)

    def required(self, each: ConfiguredRoot) -> tuple[Requirements, ...] | None:
        """Return what a root requires. What is no root of the default branch must be matched as all that it may be."""
        same = [] if self.has(each) else self._same(each.root)
        must = [found for judged in (each, *same) for found in self._whatever_branch(judged)]
        if None in must:
            return None
        more = () if self.has(each) else self._requirements
        return tuple(dict.fromkeys(found for found in (*must, *more) if found is not None))

    @cached_property
    def _rules(self) -> Collection[ReviewRule]:
        return dict.fromkeys(other.review_rule for other in self._known)

    @cached_property
    def _accesses(self) -> Collection[Access]:
        """The rules of all roots that somebody is granted anything with."""
        return dict.fromkeys(other.access for other in self._known if other.access and not other.access.denied)

    @cached_property
    def _requirements(self) -> Collection[Requirements | None]:
        return dict.fromkeys(found for other in self._known for found in self._whatever_branch(other))

    def _whatever_branch(self, each: ConfiguredRoot) -> Iterator[Requirements | None]:
        """Yield what is required with the tag of the branch that a change comes from, and what is without it."""
        yield self._loaded.required_of(each.tagged)
        others = frozenset(tag for tag in each.tagged.tags if not tag.startswith(_BRANCH))
        if others != each.tagged.tags:
            yield self._loaded.required_of(Tagged(each.tagged.directory, others))

    def _same(self, root: Root) -> list[ConfiguredRoot]:
        """Return the roots that have its name, and that which has its place."""
        return [*self._by_name.get(root.name, ()), *self._by_place.get((root.dir, root.workspace), ())]


def _identity(root: Root) -> tuple[str, str, str]:
    return root.name, root.dir, root.workspace

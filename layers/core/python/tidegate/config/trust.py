"""Rules for roots of a pull request: the default branch's configuration decides all permissions and requirements.

Otherwise a pull request could give itself permissions, or remove a gate, in a file that nobody has approved.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from tidegate.changes.rules.change_set import Key
from tidegate.changes.rules.stack import Stack, resolve_stacks
from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.resolution import configure
from tidegate.config.rule_changes import with_shape_of
from tidegate.config.substitution import PREFIX, variables_in
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.runner_size import RunnerNeeds
from tidegate.deploys.rules.workflow import WorkflowStep
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.terms import Tagged
from tidegate.rules.access import Access
from tidegate.rules.errors import quoted

_BRANCH = "branch:"
#: A value that is one word in any context: no option, no path, and no shell syntax.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]*")


@dataclass(frozen=True, slots=True)
class Trusted:
    """Roots in their stacks, and the requirements of their manual deploys; None if no check matches."""

    configured: ConfiguredRoots
    requirements: Mapping[Key, tuple[Requirements, ...] | None]


def trusted(
    loaded: LoadedConfiguration, known: Iterable[Root], roots: Iterable[Root], branch: str = "", dest_branch: str = ""
) -> Trusted:
    """Return the rules of the default branch's configuration, ``loaded``, for ``roots`` of another commit.

    ``known`` are all roots of the default branch. A root that is not among these by name and location may be any of
    them, renamed, moved or copied, with the same state: the rules of all of them apply, so that the strictest wins. A
    root with the name or location of one in another stack is refused, because it would bypass that stack's gates.
    ``branch`` and ``dest_branch`` are as in ``configure``; as whoever pushes chooses a branch's name, access and
    requirements are the strictest of those with its tag and without.
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


@dataclass(frozen=True, slots=True)
class Proposed:
    """Roots in their stacks in a pull request's merge result, under the default branch's rules.

    ``tagged`` are their tags in the default branch's configuration, because policy sets match these as well.
    """

    configured: ConfiguredRoots
    tagged: Mapping[Key, tuple[Tagged, ...]]


def proposed(
    loaded: LoadedConfiguration,
    known: Iterable[Root],
    merged: LoadedConfiguration,
    roots: Iterable[Root],
    *,
    branch: str = "",
    dest_branch: str = "",
) -> Proposed:
    """Return the rules for a plan of ``roots`` of a merge with the configuration ``merged``.

    Stacks, variables and engines are the merge's; steps, reviews and access are the default branch's, ``loaded``, the
    strictest of its rules for its own root and for the merge's root. The rest, including runner sizes, is as for
    ``trusted``. A root is refused if a value of the merge would determine a program's arguments, or if only the merge
    gives it roles.
    """
    roots = tuple(roots)
    configured = _whatever_branch(with_shape_of(loaded, merged), roots, branch, dest_branch)
    others = _Others(loaded, _whatever_branch(loaded, tuple(known), branch, dest_branch).roots)
    values, granted = _Values(loaded), _granted_roles(loaded, merged, roots, branch, dest_branch)
    runners = _runners(loaded, merged, roots, branch, dest_branch)
    refused, judged = dict(configured.refused), []
    tagged: dict[Key, tuple[Tagged, ...]] = {}
    for each in (replace(one, run=replace(one.run, runner=runners.get(one.key))) for one in configured.roots):
        problem = values.problem(each) or _role_problem(each, granted)
        if problem:
            refused[each.root.name] = problem
            continue
        same = others.as_known(each)
        judged.append(_strictest(each, same) if same else others.strictest(each))
        tagged[each.key] = tuple(other.tagged for other in same)
    return Proposed(replace(configured, roots=tuple(judged), refused=refused), tagged)


def _granted_roles(
    loaded: LoadedConfiguration, merged: LoadedConfiguration, roots: Sequence[Root], branch: str, dest_branch: str
) -> Mapping[str, Collection[Mapping[str, object]]]:
    """Return by name which roles the default branch's file gives to roots as the merge has them."""
    found: dict[str, list[Mapping[str, object]]] = {}
    if loaded.names_roles and merged.names_roles:
        for each in configure(loaded, roots, branch, dest_branch).roots:
            found.setdefault(each.root.name, []).append(each.accounts)
    return found


def _runners(
    loaded: LoadedConfiguration, merged: LoadedConfiguration, roots: Sequence[Root], branch: str, dest_branch: str
) -> Mapping[Key, RunnerNeeds | None]:
    """Return what the default branch's file asks of the runners of roots as the merge has them."""
    if not (loaded.asks_for_runners or merged.asks_for_runners):
        return {}
    return {each.key: each.run.runner for each in configure(loaded, roots, branch, dest_branch).roots}


def _role_problem(each: ConfiguredRoot, granted: Mapping[str, Collection[Mapping[str, object]]]) -> str:
    """Return why a root is not planned: only the merge gives it these roles. Without any, it gets none of these."""
    given = {key: who for key, who in each.accounts.items() if who}
    if any(given.items() <= one.items() for one in granted.get(each.root.name, ())) or not given:
        return ""
    keys = " and ".join(given)
    return (
        f"Its roles ({keys}) differ from the default branch's tidegate.yaml, and only the default branch grants "
        f"roles. Merge the change of {keys} first; then Tidegate plans this root."
    )


def _strictest(each: ConfiguredRoot, same: Iterable[ConfiguredRoot]) -> ConfiguredRoot:
    for other in same:
        access = _both(each.access, other.access)
        each = replace(each, review_rule=each.review_rule.and_also(other.review_rule), access=access)
    return each


class _Values:
    """The values of stack variables that the default branch's file has, and those that its programs get from others."""

    def __init__(self, loaded: LoadedConfiguration) -> None:
        self._stacks: Mapping[str, Stack] = resolve_stacks([each.definition for each in loaded.stacks])
        hooks = (*loaded.hooks.plan_before, *loaded.hooks.plan_after)
        self._named = {"": frozenset(_decided(hooks))}
        for workflow in loaded.workflows[::-1]:
            decided = {*_decided(workflow.plan or ()), *self._named[""]}
            self._named[repr(workflow.query.text)] = frozenset(decided)

    def problem(self, each: ConfiguredRoot) -> str:
        """Return why a root is not planned: a value that only the merge has could decide what a program does."""
        stack = self._stacks.get(each.stack)
        known = dict(stack.variables) if stack else {}
        for name, value in each.run.variables:
            is_new = name in self._named[each.workflow] and known.get(name.removeprefix(PREFIX)) != value
            if is_new and not _PLAIN.fullmatch(value):
                return (
                    f"A step of the default branch's tidegate.yaml uses the value of {name}, which this commit "
                    "changes to something other than a plain word. Tidegate does not plan this root before the "
                    "merge. Use only letters, digits and _ . : @ - in the value, or let the step read the variable "
                    "from its environment."
                )
        return ""


def _decided(steps: Iterable[WorkflowStep]) -> Iterator[str]:
    """Yield the stack variables that decide what a program is told. Behind an option, a value is only that."""
    for step in steps:
        options = (text for text in step.extra_args if not text.startswith("-"))
        for text in (*step.command, *options, *(value for _, value in step.env)):
            yield from variables_in(text)


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
_NOBODY = Access((), (), (), (), denied="it is invalid without the tag of its branch")


def _both(one: Access | None, other: Access | None) -> Access | None:
    return one.and_also(other) if one and other else one or other


def required(loaded: LoadedConfiguration, tagged: Tagged) -> tuple[Requirements, ...] | None:
    """Return what a root with these tags requires before an apply, None where no check says it.

    That is what is required with the tag of the branch that a change comes from, and what is without it.
    """
    found = list(_required(loaded, tagged))
    return None if None in found else tuple(dict.fromkeys(each for each in found if each is not None))


def _required(loaded: LoadedConfiguration, tagged: Tagged) -> Iterator[Requirements | None]:
    yield loaded.required_of(tagged)
    others = frozenset(tag for tag in tagged.tags if not tag.startswith(_BRANCH))
    if others != tagged.tags:
        yield loaded.required_of(Tagged(tagged.directory, others))


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

    def as_known(self, each: ConfiguredRoot) -> list[ConfiguredRoot]:
        """Return a root as the default branch has it, in all of its stacks there; nothing if it does not."""
        identity = _identity(each.root)
        return [other for other in self._by_name.get(each.root.name, ()) if _identity(other.root) == identity]

    def conflict(self, root: Root, stacks: Collection[str]) -> str:
        """Return why a root cannot be judged: it is one of another stack, under another name or in another place."""
        if _identity(root) in self._places:
            return ""
        same = next((other for other in self._same(root) if other.stack not in stacks), None)
        if same is None:
            return ""
        return (
            f"Root {quoted(root.name)} (directory {quoted(root.dir)}) is root {quoted(same.root.name)} (directory "
            f"{quoted(same.root.dir)}) on the default branch, in the stack {quoted(same.stack)}, and would bypass "
            "that stack's gates. Merge the new name or directory first; the merge deploys it."
        )

    def strictest(self, each: ConfiguredRoot) -> ConfiguredRoot:
        """Return a root that the default branch does not have, under all rules that its roots are under."""
        rule = reduce(ReviewRule.and_also, self._rules, each.review_rule)
        access = reduce(Access.and_also, self._accesses, each.access) if each.access else None
        return replace(each, review_rule=rule, access=access)

    def required(self, each: ConfiguredRoot) -> tuple[Requirements, ...] | None:
        """Return what a root requires. What is no root of the default branch must be matched as all that it may be."""
        same = [] if self.has(each) else self._same(each.root)
        must = [found for judged in (each, *same) for found in _required(self._loaded, judged.tagged)]
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
        return dict.fromkeys(found for other in self._known for found in _required(self._loaded, other.tagged))

    def _same(self, root: Root) -> list[ConfiguredRoot]:
        """Return the roots that have its name, and that which has its place."""
        return [*self._by_name.get(root.name, ()), *self._by_place.get((root.dir, root.workspace), ())]


def _identity(root: Root) -> tuple[str, str, str]:
    return root.name, root.dir, root.workspace

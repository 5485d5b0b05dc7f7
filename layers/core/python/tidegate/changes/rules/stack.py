"""Stacks: named groups of roots, with variables and with rules between each other.

A file declares stacks with roots, and stack groups, which hold other stacks. Only the former ("leaves") are used: with
all settings of their groups pushed down, and their rules expanded to leaves and transitively closed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from itertools import islice
from typing import Any

from tidegate.changes.rules.stack_groups import StackGroups, groups_of
from tidegate.changes.rules.waits import AwaitedEnvironment
from tidegate.changes.rules.wave import WaveRules
from tidegate.rules.errors import InvalidStacks, StackCycle, StackGroupsDisagree, StackInItself, UnknownStack, quoted
from tidegate.rules.graphs import Cycle, closed, in_order

#: The stack of roots without one, unless a stack of this name is declared.
DEFAULT_STACK = "default"

#: Mistakes of one kind in one report: searching similar names takes time.
MAXIMUM_MISTAKES = 20

_RULES = ("apply_after", "plan_after", "modified_by")
#: Rules of which a leaf takes the nearest value.
_PUSHED_DOWN = ("auto_apply", "max_concurrent", "stop_on_failures", "soak", "protected")


class RunStrategy(StrEnum):
    """Which roots of a stack run when some of them changed."""

    ONE_FOR_ONE = "one-for-one"
    ALL_FOR_ONE = "all-for-one"


@dataclass(frozen=True, slots=True)
class StackRules:
    """Rules between stacks, by name, and of how each is rolled out.

    ``plan_after`` is what ``modified_by`` says where it is None. ``environments`` of config repositories are applied to
    first. ``soak`` is in seconds. ``protected``: what a plan destroys is approved explicitly.
    """

    apply_after: tuple[str, ...] = ()
    plan_after: tuple[str, ...] | None = None
    modified_by: tuple[str, ...] = ()
    auto_apply: bool | None = None
    environments: tuple[AwaitedEnvironment, ...] = ()
    max_concurrent: int | None = None
    stop_on_failures: int | None = None
    soak: int | None = None
    protected: bool | None = None


@dataclass(frozen=True, slots=True)
class StackDefinition:
    """A declared stack. A stack group names its stacks in ``contains``; a leaf has none.

    ``variables`` are pairs of an upper-case name, without ``STACK_VAR_``, and a text.
    """

    name: str
    contains: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    rules: StackRules = field(default_factory=StackRules)
    run_strategy: RunStrategy | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """A leaf as used. ``within`` are its parent stacks, the nearest first; rules name leaves only.

    ``apply_after``, ``plan_after`` and ``modified_by`` hold all leaves of the rule, transitively, and never the stack
    itself. ``soak`` is in seconds.
    """

    name: str
    within: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    apply_after: frozenset[str] = frozenset()
    plan_after: frozenset[str] = frozenset()
    modified_by: frozenset[str] = frozenset()
    auto_apply: bool | None = None
    run_strategy: RunStrategy = RunStrategy.ONE_FOR_ONE
    environments: tuple[AwaitedEnvironment, ...] = ()
    wave: WaveRules = field(default_factory=WaveRules)
    soak: int = 0
    protected: bool = False


def resolve_stacks(definitions: Sequence[StackDefinition]) -> Mapping[str, Stack]:
    """Return the leaves by name, in the order of their definitions, with all their settings.

    ``default`` is the last of them, unless a stack of this name is declared. Raise InvalidStacks: of several mistakes
    the first.
    """
    mistakes, stacks = examine_stacks(definitions)
    if mistakes:
        raise mistakes[0]
    return stacks


def examine_stacks(definitions: Sequence[StackDefinition]) -> tuple[Sequence[InvalidStacks], Mapping[str, Stack]]:
    """Return all mistakes in stacks, of the first kind that occurs; without any, the leaves by name."""
    unknown = unknown_stacks(definitions)
    if unknown:
        return unknown, {}
    declared = {each.name: each for each in definitions}
    declared.setdefault(DEFAULT_STACK, StackDefinition(DEFAULT_STACK))
    try:
        groups = groups_of({name: each.contains for name, each in declared.items()})
    except Cycle as cycle:
        problem = f"it contains itself: {cycle}"
        return [StackInItself(cycle.nodes[0], ("contains",), problem, "Remove one of these from its parent stack")], {}
    resolution = _Resolution(declared, groups)
    mistakes = [*islice(resolution.disagreements(), MAXIMUM_MISTAKES), *resolution.cycles()]
    return mistakes, {} if mistakes else resolution.stacks()


def unknown_stacks(definitions: Sequence[StackDefinition]) -> list[UnknownStack]:
    """Return where stacks name others that are not among them; the first mistakes only, if there are very many."""
    declared = {DEFAULT_STACK, *(each.name for each in definitions)}
    unknown = (mistake for each in definitions for mistake in _unknown(each, declared))
    return list(islice(unknown, MAXIMUM_MISTAKES))


def _unknown(definition: StackDefinition, known: Collection[str]) -> Iterator[UnknownStack]:
    for kind, names in _names(definition).items():
        for name in names:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"Did you mean {quoted(near[0])}? " if near else ""
                allowed = f"{hint}Stacks are declared under stacks.names"
                yield UnknownStack(definition.name, (kind,), name, allowed)


def _names(definition: StackDefinition) -> dict[str, tuple[str, ...]]:
    """Return the stacks that a stack names, by where it does."""
    rules = definition.rules
    return {
        "contains": definition.contains,
        "apply_after": rules.apply_after,
        "plan_after": rules.plan_after or (),
        "modified_by": rules.modified_by,
    }


#: A part of a definition by its place, which a leaf takes from its parent stacks.
_Place = tuple[str, ...]


def _parts(definition: StackDefinition) -> dict[_Place, object]:
    """Return the parts of a definition that its groups could set as well."""
    parts: dict[_Place, object] = {
        **{(name,): getattr(definition.rules, name) for name in _PUSHED_DOWN},
        ("run_strategy",): definition.run_strategy,
    }
    parts |= {("variables", name): value for name, value in definition.variables}
    return {place: value for place, value in parts.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _Said:
    """A part of a definition, and its source: a leaf, or a stack group at some distance."""

    value: Any
    stack: str
    distance: int


class _Resolution:
    """Resolves definitions without unknown stacks, with their parent stacks, to leaves."""

    def __init__(self, declared: Mapping[str, StackDefinition], groups: StackGroups) -> None:
        self._declared, self._groups = declared, groups
        self._leaves = tuple(groups.around)
        self._parts = {name: _parts(each) for name, each in declared.items()}
        self._names_in = {name: _names(each) for name, each in declared.items()}
        self._rules = {kind: self._rule(kind) for kind in _RULES}
        self._rules["plan_after"] = {leaf: self._rules[self._kind_of_plans(leaf)][leaf] for leaf in self._leaves}

    def stacks(self) -> Mapping[str, Stack]:
        """Return the leaves by name."""
        closures = {kind: closed(self._rules[kind]) for kind in _RULES}
        return {leaf: self._stack(leaf, {kind: closures[kind][leaf] for kind in _RULES}) for leaf in self._leaves}

    def _stack(self, leaf: str, rules: Mapping[str, frozenset[str]]) -> Stack:
        values: dict[_Place, Any] = {}
        for place, said in self._said_around(leaf):
            values.setdefault(place, said.value)
        return Stack(
            leaf,
            self._groups.within(leaf),
            tuple(sorted((place[1], value) for place, value in values.items() if place[0] == "variables")),
            rules["apply_after"],
            rules["plan_after"],
            rules["modified_by"] - {leaf},
            values.get(("auto_apply",)),
            values.get(("run_strategy",), RunStrategy.ONE_FOR_ONE),
            tuple(sorted({each for name in self._around(leaf) for each in self._declared[name].rules.environments})),
            WaveRules(values.get(("max_concurrent",)), values.get(("stop_on_failures",))),
            values.get(("soak",), 0),
            values.get(("protected",), False),
        )

    def _said_around(self, leaf: str) -> Iterator[tuple[_Place, _Said]]:
        """Return what a leaf and its parent stacks say, the nearest first."""
        for distance, names in enumerate(((leaf,), *self._groups.around[leaf])):
            for name in names:
                for place, value in self._parts[name].items():
                    yield place, _Said(value, name, distance)

    def disagreements(self) -> Iterator[StackGroupsDisagree]:
        """Return where groups at one distance from a leaf disagree, and none nearer decides."""
        for leaf in self._leaves:
            nearest: dict[_Place, _Said] = {}
            for place, said in self._said_around(leaf):
                first = nearest.setdefault(place, said)
                if said.distance == first.distance and said.value != first.value:
                    yield _disagreement(leaf, place, first.stack, said.stack)

    def cycles(self) -> Iterator[StackCycle]:
        """Return the first cycle of leaves, before their plans or applies."""
        apply_after, plan_after = self._rules["apply_after"], self._rules["plan_after"]
        try:
            in_order({leaf: (*apply_after[leaf], *plan_after[leaf]) for leaf in self._leaves})
        except Cycle as cycle:
            yield self._cycle(cycle)

    def _cycle(self, cycle: Cycle) -> StackCycle:
        """Return the error, at the first rule of the cycle: of its leaf, or of a group around it."""
        waiting, awaited = (*cycle.nodes, cycle.nodes[0])[:2]
        kind, owner = next(
            (kind, name)
            for name in self._around(waiting)
            for kind in ("apply_after", self._kind_of_plans(waiting))
            if awaited in self._groups.expand(self._names_in[name][kind])
        )
        problem = f"dependency cycle: {cycle}"
        if owner != waiting:
            problem += f", because {quoted(waiting)} inherits the rules of {quoted(owner)}"
        advice = "Remove one of these rules"
        if kind == "modified_by":
            advice += ", or add plan_after: [] next to modified_by, which otherwise also sets the order of plans"
        return StackCycle(owner, (kind,), problem, advice)

    def _rule(self, kind: str) -> dict[str, tuple[str, ...]]:
        """Return for each leaf what it and its parent stacks name in a rule, as leaves."""
        return {
            leaf: self._groups.expand([named for name in self._around(leaf) for named in self._names_in[name][kind]])
            for leaf in self._leaves
        }

    def _kind_of_plans(self, leaf: str) -> str:
        """Return the rule that says after which leaves this one is planned."""
        written = any(self._declared[name].rules.plan_after is not None for name in self._around(leaf))
        return "plan_after" if written else "modified_by"

    def _around(self, leaf: str) -> tuple[str, ...]:
        """Return the leaf and its parent stacks, the nearest first."""
        return (leaf, *self._groups.within(leaf))


def _disagreement(leaf: str, place: _Place, first: str, other: str) -> StackGroupsDisagree:
    problem = f"it and {quoted(first)} set {'.'.join(place)} differently, and {quoted(leaf)} is in both"
    return StackGroupsDisagree(other, place, problem, f"Set it in {quoted(leaf)} itself, or set the same value in both")

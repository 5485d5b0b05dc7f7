"""Change sets: all roots that one revision changes or pulls in, each in its stack, in layers.

Inside a stack, ``depends_on`` pulls in and orders; between stacks, only their rules do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegate.changes.rules.stack import DEFAULT_STACK, RunStrategy, Stack
from tidegate.changes.rules.waits import Soak, Waits
from tidegate.changes.rules.wave import WaveRules
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.root_index import TagIndex
from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import Tagged
from tidegate.rules.errors import CyclicChange, quoted
from tidegate.rules.graphs import Cycle, WaitGraph, from_smallest

#: A root in a stack: the root's name and the stack's.
Key = tuple[str, str]

#: Why a root that a commit changes itself is a member.
CHANGED = "This commit changes it."


@dataclass(frozen=True, slots=True)
class Candidate:
    """A root in one of its stacks, and its dependencies in this stack."""

    root: Root
    tagged: Tagged
    stack: str = DEFAULT_STACK
    depends_on: TagQuery | None = None

    @property
    def key(self) -> Key:
        return self.root.name, self.stack


@dataclass(frozen=True, slots=True)
class Member:
    """A root of a change set, in one stack. ``why`` is a sentence; ``layer`` counts from 1.

    A layer is the longest path to it over what must be applied before it is planned.
    """

    root: Root
    stack: str
    why: str
    layer: int = 1
    waits: Waits = field(default_factory=Waits)
    wave: WaveRules = field(default_factory=WaveRules)

    @property
    def key(self) -> Key:
        return self.root.name, self.stack


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """The members, each after all of its dependencies; ties by name."""

    members: tuple[Member, ...]

    @property
    def layers(self) -> int:
        return max((member.layer for member in self.members), default=0)


def stack_layers(members: Iterable[Member]) -> dict[str, tuple[int, int]]:
    """Return the first and the last layer of each stack: inside a stack they follow each other without a gap."""
    found: dict[str, tuple[int, int]] = {}
    for each in members:
        first, last = found.get(each.stack, (each.layer, each.layer))
        found[each.stack] = min(first, each.layer), max(last, each.layer)
    return found


def change_set(candidates: Iterable[Candidate], stacks: Mapping[str, Stack], changed: Collection[Key]) -> ChangeSet:
    """Return the change set if a revision changes the roots ``changed``, each in its stack.

    ``candidates`` are all roots in their stacks, ``stacks`` has these by name. Other changed roots are ignored. Raise
    CyclicChange for a cycle.
    """
    return Candidates(candidates, stacks).change_set(changed)


class Candidates:
    """All roots in their stacks, to be asked about many changes."""

    def __init__(self, candidates: Iterable[Candidate], stacks: Mapping[str, Stack]) -> None:
        self._pools = _pools(candidates)
        self._stacks = stacks
        self._modifies: dict[str, list[str]] = {}
        for name in self._pools:
            for other in stacks[name].modified_by:
                self._modifies.setdefault(other, []).append(name)

    def change_set(self, changed: Collection[Key]) -> ChangeSet:
        """Return what runs when ``changed`` changed, as the function of this name does."""
        pulled = _PullIn(self._pools, self._stacks, self._modifies)
        for key in sorted(set(changed)):
            pulled.add(key, CHANGED)
        return ChangeSet(_in_order(self._pools, self._stacks, pulled.pull()))

    def stuck(self) -> Mapping[Key, tuple[str, ...]]:
        """Return for each root in a cycle of its stack, and for each that depends on one, the cycle.

        That is the names of roots of that stack: each depends on the next, and the last on the first.
        """
        found: dict[Key, tuple[str, ...]] = {}
        for stack, pool in self._pools.items():
            if pool.is_ordered:
                keys = [candidate.key for candidate in pool.candidates]
                waiting = _Waiting(keys)
                waiting.inside(stack, pool)
                found |= waiting.stuck()
        return found


class _Pool:
    """The candidates of one stack, by name, and the matches of their ``depends_on``."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self.candidates = sorted(candidates, key=lambda candidate: candidate.root.name)
        self.place = {candidate.root.name: place for place, candidate in enumerate(self.candidates)}
        self._index = TagIndex([candidate.tagged for candidate in self.candidates])
        self._waiting: dict[str, list[int]] = {}
        self._queries: dict[str, TagQuery] = {}
        for place, candidate in enumerate(self.candidates):
            if candidate.depends_on is not None:
                self._queries[candidate.depends_on.text] = candidate.depends_on
                self._waiting.setdefault(candidate.depends_on.text, []).append(place)

    @property
    def is_ordered(self) -> bool:
        """Whether any of the candidates depends on others."""
        return bool(self._waiting)

    def dependencies(self) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
        """Return pairs of what depends on the same, and what that is: a root may be on both sides."""
        for text, waiting in self._waiting.items():
            yield waiting, self._index.matching(self._queries[text])


def _pools(candidates: Iterable[Candidate]) -> dict[str, _Pool]:
    by_stack: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_stack.setdefault(candidate.stack, []).append(candidate)
    return {stack: _Pool(by_stack[stack]) for stack in sorted(by_stack)}


class _PullIn:
    """Finds all members: what changed, and what that pulls in, over any number of steps."""

    def __init__(
        self, pools: Mapping[str, _Pool], stacks: Mapping[str, Stack], modifies: Mapping[str, Sequence[str]]
    ) -> None:
        self._pools = pools
        self._stacks = stacks
        self._modifies = modifies
        self._why: dict[Key, str] = {}
        self._ahead: deque[Key] = deque()
        self._dependents: dict[str, dict[int, list[Sequence[int]]]] = {}

    def add(self, key: Key, why: str) -> None:
        """Add a candidate, unless it is a member already."""
        name, stack = key
        if key not in self._why and stack in self._pools and name in self._pools[stack].place:
            self._why[key] = why
            self._ahead.append(key)

    def pull(self) -> Mapping[Key, str]:
        """Return all members, each with why it is one."""
        while self._ahead:
            name, stack = self._ahead.popleft()
            if stack not in self._dependents:
                self._enter(stack)
            pool = self._pools[stack]
            for waiting in self._dependents[stack].get(pool.place[name], ()):
                for place in waiting:
                    self.add(
                        (pool.candidates[place].root.name, stack), f"It depends on {name}, which this change includes."
                    )
        return self._why

    def _enter(self, stack: str) -> None:
        """Add what runs if anything of a stack does. A stack without members costs nothing."""
        if self._stacks[stack].run_strategy is RunStrategy.ALL_FOR_ONE:
            self._add_all(stack, f"All roots of stack {stack} run when one of them runs.")
        for other in self._modifies.get(stack, ()):
            self._add_all(other, f"Stack {other} is modified by stack {stack}, which this change includes.")
        dependents: dict[int, list[Sequence[int]]] = {}
        for waiting, awaited in self._pools[stack].dependencies():
            for place in awaited:
                dependents.setdefault(place, []).append(waiting)
        self._dependents[stack] = dependents

    def _add_all(self, stack: str, why: str) -> None:
        for candidate in self._pools[stack].candidates:
            self.add(candidate.key, why)


def _in_order(pools: Mapping[str, _Pool], stacks: Mapping[str, Stack], why: Mapping[Key, str]) -> tuple[Member, ...]:
    keys = sorted(why)
    present = sorted({stack for _, stack in keys})
    waiting = _Waiting(keys)
    for stack in present:
        waiting.inside(stack, pools[stack])
    waiting.between({name: stacks[name] for name in present})
    order, layers = waiting.ordered()
    members = []
    for node in order:
        name, stack = keys[node]
        pool = pools[stack]
        root = pool.candidates[pool.place[name]].root
        why_it = why[keys[node]]
        members.append(Member(root, stack, why_it, layers[node], waiting.waits(node), stacks[stack].wave))
    return tuple(members)


class _Waiting:
    """The dependencies of a change's members. Nodes of the graph are the members, by the index of their keys."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = keys
        self._node = {key: node for node, key in enumerate(keys)}
        self._graph = WaitGraph(len(keys))
        self._roots: dict[int, tuple[str, ...]] = {}
        self._gates: dict[str, Waits] = {}
        self._stack_of: dict[int, str] = {}

    def inside(self, stack: str, pool: _Pool) -> None:
        """Add dependencies inside a stack. A query that matches the root itself does not count."""
        nodes = [self._node.get((candidate.root.name, stack)) for candidate in pool.candidates]
        for waiting, awaited in pool.dependencies():
            before = [node for place in awaited if (node := nodes[place]) is not None]
            names = tuple(self._keys[node][0] for node in before)
            after = [node for place in waiting if (node := nodes[place]) is not None]
            if before and after:
                self._depend(after, before, names)

    def _depend(self, after: Sequence[int], before: Sequence[int], names: tuple[str, ...]) -> None:
        both = sorted(set(after) & set(before))
        if len(both) > 1:
            self._knot(both)
            after, both = sorted(set(after) - set(both)), []
        for node in after:
            self._roots[node] = tuple(name for name in names if name != self._keys[node][0]) if node in both else names
        for own in both:
            for each in before:
                if each != own:
                    self._graph.wait(own, each)
            after = [node for node in after if node != own]
        point = self._graph.between()
        for node in before:
            self._graph.wait(point, node)
        for node in after:
            self._graph.wait(node, point)

    def _knot(self, nodes: Sequence[int]) -> None:
        """Make a cycle of mutually dependent nodes: all depend on the first, and it on the second."""
        for node in nodes[1:]:
            self._graph.wait(node, nodes[0])
        self._graph.wait(nodes[0], nodes[1])

    def between(self, present: Mapping[str, Stack]) -> None:
        """Add dependencies between stacks by their rules, if both are in the change."""
        begin = {name: self._point(name) for name in present}
        done = {name: self._point("") for name in present}
        for node, (_, stack) in enumerate(self._keys):
            self._graph.wait(node, begin[stack])
            self._graph.wait(done[stack], node)
        for name, rules in present.items():
            plan_after = sorted(rules.plan_after & present.keys())
            apply_after = sorted((rules.apply_after - rules.plan_after) & present.keys())
            soaks = tuple(Soak(each, present[each].soak) for each in (*plan_after, *apply_after) if present[each].soak)
            self._gates[name] = Waits(
                (), tuple(plan_after), tuple(apply_after), environments=rules.environments, soaks=soaks
            )
            for other in plan_after:
                self._graph.wait(begin[name], done[other])
            for other in apply_after:
                self._graph.wait(begin[name], done[other], layered=False)

    def _point(self, stack: str) -> int:
        """Return a new node between others; a name tells that a stack begins there."""
        point = self._graph.between()
        self._stack_of[point] = stack
        return point

    def ordered(self) -> tuple[list[int], list[int]]:
        """Return the members in order and the layer of each. Raise CyclicChange."""
        try:
            return self._graph.ordered()
        except Cycle as cycle:
            raise self._cyclic(cycle.nodes) from None

    def stuck(self) -> dict[Key, tuple[str, ...]]:
        """Return for each unordered member the names of the cycle on which it depends."""
        return {
            self._keys[node]: from_smallest([self._keys[each][0] for each in cycle if each < len(self._keys)])
            for node, cycle in self._graph.stuck().items()
        }

    def waits(self, node: int) -> Waits:
        """Return a member's dependencies."""
        gates = self._gates[self._keys[node][1]]
        return replace(gates, roots=self._roots.get(node, ()))

    def _cyclic(self, nodes: Sequence[int]) -> CyclicChange:
        """Return the error for a cycle: of stacks if it contains some, or else of roots in one stack."""
        if stacks := [stack for node in nodes if (stack := self._stack_of.get(node))]:
            advice = "Remove one of the stacks from apply_after, plan_after or modified_by of the other"
            return CyclicChange("Stacks", from_smallest(stacks), advice)
        keys = [self._keys[node] for node in nodes if node < len(self._keys)]
        what = f"Roots of stack {quoted(keys[0][1])}"
        return CyclicChange(what, from_smallest([name for name, _ in keys]), "Correct their depends_on")

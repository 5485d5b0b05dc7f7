"""Change sets: what a changed root pulls in, what waits for what, and in which order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chance import examples
from tidegate.changes.rules.change_set import Candidate, Candidates, ChangeSet, Key, change_set
from tidegate.changes.rules.stack import RunStrategy, Stack
from tidegate.changes.rules.waits import Soak
from tidegate.changes.rules.wave import WaveRules
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.roots.rules.terms import tagged
from tidegate.rules.errors import CyclicChange

ALL_FOR_ONE = RunStrategy.ALL_FOR_ONE


def candidate(name: str, stack: str = "default", depends_on: str | None = None, tags: str = "") -> Candidate:
    root = Root(name, name)
    query = None if depends_on is None else parse_tag_query(depends_on)
    return Candidate(root, tagged(root, tags.split()), stack, query)


def resolve(candidates: list[Candidate], *changed: str, **stacks: Stack) -> ChangeSet:
    """Return the change set of changed roots, written ``root`` or ``root@stack``."""
    names = {each.stack for each in candidates} | set(stacks)
    keys: list[Key] = [(name, stack or "default") for name, _, stack in (each.partition("@") for each in changed)]
    return change_set(candidates, {name: stacks.get(name, Stack(name)) for name in names}, keys)


def shown(found: ChangeSet) -> list[str]:
    return [member.root.name if member.stack == "default" else "@".join(member.key) for member in found.members]


def layers(found: ChangeSet) -> dict[str, int]:
    return {member.root.name: member.layer for member in found.members}


def after(*names: str) -> frozenset[str]:
    return frozenset(names)


PROJECTS = (("project1/dev", "project1 dev"), ("project2/dev", "project2 dev"))


def projects(*, in_stacks: bool) -> list[Candidate]:
    """Return the roots of the specification's example."""
    found = []
    for project in ("project1", "project2"):
        stack = project if in_stacks else "default"
        found += [
            candidate(f"{project}/dev", stack, None, f"{project} dev"),
            candidate(f"{project}/prod", stack, "dev", f"{project} prod"),
        ]
    return found


class TestWhatIsPulledIn:
    def test_without_anything_changed_there_is_no_member(self):
        found = resolve([candidate("a"), candidate("b", depends_on="name:a")])
        assert (found.members, found.layers) == ((), 0)

    def test_what_changed_and_is_no_root_is_left_out(self):
        assert resolve([candidate("a")], "gone", "a@other").members == ()

    def test_a_root_that_depends_on_a_changed_one_runs_too_and_so_does_what_depends_on_it(self):
        chain = [candidate("a"), candidate("b", depends_on="name:a"), candidate("c", depends_on="name:b")]
        assert shown(resolve(chain, "a")) == ["a", "b", "c"]
        assert shown(resolve(chain, "b")) == ["b", "c"]

    def test_outside_of_stacks_a_tag_of_one_project_pulls_in_the_other_project(self):
        assert shown(resolve(projects(in_stacks=False), "project1/dev")) == [
            "project1/dev",
            "project1/prod",
            "project2/prod",
        ]

    def test_a_stack_encloses_what_depends_on_each_other(self):
        assert shown(resolve(projects(in_stacks=True), "project1/dev@project1")) == [
            "project1/dev@project1",
            "project1/prod@project1",
        ]

    def test_a_root_does_not_depend_on_itself(self):
        found = resolve([candidate("a", tags="net"), candidate("b", depends_on="net", tags="net")], "b")
        assert [member.waits.roots for member in found.members] == [()]

    def test_a_stack_that_is_modified_by_another_runs_whole_and_pulls_in_what_it_modifies(self):
        roots = [candidate("x", "a"), candidate("y", "b"), candidate("z", "b"), candidate("w", "c")]
        found = resolve(roots, "x@a", b=Stack("b", modified_by=after("a")), c=Stack("c", modified_by=after("b")))
        assert shown(found) == ["w@c", "x@a", "y@b", "z@b"]
        assert shown(resolve(roots, "y@b", b=Stack("b", modified_by=after("a")))) == ["y@b"]

    def test_all_for_one_runs_all_roots_of_the_stack_before_what_depends_on_them_is_looked_for(self):
        roots = [candidate("x", "a"), candidate("y", "a"), candidate("z", "a", "name:y"), candidate("v", "b")]
        assert shown(resolve(roots, "x@a", a=Stack("a", run_strategy=ALL_FOR_ONE))) == ["x@a", "y@a", "z@a"]
        assert shown(resolve(roots, "x@a")) == ["x@a"]

    def test_a_root_in_two_stacks_is_a_member_in_each_that_changed(self):
        roots = [candidate("net", "dev"), candidate("net", "prod")]
        assert shown(resolve(roots, "net@dev", "net@prod")) == ["net@dev", "net@prod"]

    def test_each_member_says_why_it_is_one(self):
        roots = [
            candidate("a", "s"),
            candidate("b", "s", "name:a"),
            candidate("c", "t"),
            candidate("d", "u"),
            candidate("e", "u"),
        ]
        stacks = {"t": Stack("t", modified_by=after("s")), "u": Stack("u", run_strategy=ALL_FOR_ONE)}
        found = resolve(roots, "a@s", "d@u", **stacks)
        assert {member.root.name: member.why for member in found.members} == {
            "a": "This commit changes it.",
            "b": "It depends on a, which this change includes.",
            "c": "Stack t is modified by stack s, which this change includes.",
            "d": "This commit changes it.",
            "e": "All roots of stack u run when one of them runs.",
        }


class TestWhatWaits:
    def test_a_root_waits_for_those_that_it_depends_on_and_that_are_in_the_change(self):
        roots = [candidate("a", tags="net"), candidate("b", tags="net"), candidate("c", depends_on="net")]
        assert [each.waits.roots for each in resolve(roots, "a", "b").members] == [(), (), ("a", "b")]
        assert [each.waits.roots for each in resolve(roots, "a").members] == [(), ("a",)]

    def test_a_layer_is_the_longest_way(self):
        roots = [
            candidate("z"),
            candidate("m", depends_on="name:z"),
            candidate("b", depends_on="name:m or name:z"),
            candidate("a"),
        ]
        found = resolve(roots, "z", "a")
        assert shown(found) == ["a", "z", "m", "b"]
        assert layers(found) == {"z": 1, "m": 2, "b": 3, "a": 1}
        assert found.layers == 3

    def test_stacks_wait_for_those_of_the_change_that_their_rules_name(self):
        roots = [candidate("x", "dev"), candidate("y", "prod"), candidate("z", "late")]
        stacks = {
            "prod": Stack("prod", apply_after=after("dev", "absent")),
            "late": Stack("late", plan_after=after("dev", "prod"), apply_after=after("dev", "prod")),
            "absent": Stack("absent"),
        }
        found = resolve(roots, "x@dev", "y@prod", "z@late", **stacks)
        assert shown(found) == ["x@dev", "y@prod", "z@late"]
        assert layers(found) == {"x": 1, "y": 1, "z": 2}
        assert [(m.waits.plan_after, m.waits.apply_after) for m in found.members] == [
            ((), ()),
            ((), ("dev",)),
            (("dev", "prod"), ()),
        ]

    def test_what_is_not_in_the_change_is_not_waited_for(self):
        roots = [candidate("x", "dev"), candidate("y", "prod")]
        found = resolve(roots, "y@prod", prod=Stack("prod", apply_after=after("dev"), plan_after=after("dev")))
        assert not found.members[0].waits.before_plan
        assert found.members[0].waits.apply_after == ()

    def test_members_know_how_their_stack_is_rolled_out_and_for_what_others_soak(self):
        stacks = {
            "a": Stack("a", soak=60),
            "b": Stack("b", apply_after=after("a"), wave=WaveRules(max_concurrent=1)),
            "c": Stack("c", plan_after=after("a"), apply_after=after("b")),
        }
        found = resolve([candidate(name, name) for name in stacks], *(f"{name}@{name}" for name in stacks), **stacks)
        waves = {each.stack: (each.wave, each.waits.soaks) for each in found.members}
        soaks = (Soak("a", 60),)
        assert waves == {"a": (WaveRules(), ()), "b": (WaveRules(1), soaks), "c": (WaveRules(), soaks)}

    def test_members_come_after_what_they_wait_for_although_their_names_are_smaller(self):
        roots = [candidate("a", "prod"), candidate("b", "dev", "name:c"), candidate("c", "dev")]
        found = resolve(roots, "a@prod", "b@dev", "c@dev", prod=Stack("prod", apply_after=after("dev")))
        assert shown(found) == ["c@dev", "b@dev", "a@prod"]

    def test_a_root_that_depends_on_its_own_tag_waits_for_the_others_that_have_it(self):
        roots = [candidate("a", depends_on="net", tags="net"), candidate("b", tags="net"), candidate("c", tags="net")]
        found = resolve([*roots, candidate("d", depends_on="net")], "a", "b", "c")
        assert {member.root.name: member.waits.roots for member in found.members} == {
            "a": ("b", "c"),
            "b": (),
            "c": (),
            "d": ("a", "b", "c"),
        }
        assert layers(found) == {"b": 1, "c": 1, "a": 2, "d": 3}


class TestCycles:
    def test_roots_that_wait_for_each_other_are_shown_in_a_cycle(self):
        roots = [
            candidate("c", "s", "name:b"),
            candidate("b", "s", "name:a"),
            candidate("a", "s", "name:c"),
            candidate("d", "s", "name:a"),
        ]
        with pytest.raises(CyclicChange, match=r"Roots of stack 's' depend on each other: a → c → b → a\. Correct"):
            resolve(roots, "a@s")

    def test_two_roots_that_depend_on_the_tag_that_both_have_wait_for_each_other(self):
        roots = [candidate("a", depends_on="net", tags="net"), candidate("b", depends_on="net", tags="net")]
        with pytest.raises(CyclicChange, match="a → b → a"):
            resolve(roots, "a")

    def test_stacks_that_wait_for_each_other_by_different_rules_are_shown(self):
        roots = [candidate("x", "dev"), candidate("y", "prod"), candidate("z", "qa")]
        stacks = {
            "dev": Stack("dev", apply_after=after("prod")),
            "prod": Stack("prod", plan_after=after("qa")),
            "qa": Stack("qa", plan_after=after("dev")),
        }
        with pytest.raises(CyclicChange, match=re.escape("Stacks depend on each other: dev → prod → qa → dev.")):
            resolve(roots, "x@dev", "y@prod", "z@qa", **stacks)
        assert shown(resolve(roots, "x@dev", "y@prod", **stacks)) == ["y@prod", "x@dev"]

    def test_all_who_can_never_come_are_found_without_a_change_each_with_its_cycle(self):
        roots = [
            candidate("a", "s", "name:b"),
            candidate("b", "s", "name:a"),
            candidate("c", "s", "name:a"),
            candidate("d", "s", "name:e"),
            candidate("e", "s"),
            candidate("f", "s", "net", tags="net"),
            candidate("g", "s", "net", tags="net"),
            candidate("h", "s", "net", tags="net"),
            candidate("i", "s", "net"),
            candidate("a", "t", "name:b"),
        ]
        stuck = Candidates(roots, {name: Stack(name) for name in "st"}).stuck()
        assert {name: stuck.get((name, "s")) for name in "abcde"} == {
            "a": ("a", "b"), "b": ("a", "b"), "c": ("a", "b"), "d": None, "e": None
        }  # fmt: skip
        assert {stuck[name, "s"] for name in "fghi"} == {("f", "g")}
        assert ("a", "t") not in stuck

    def test_a_cycle_that_is_not_in_the_change_bothers_nobody(self):
        roots = [candidate("a", depends_on="name:b"), candidate("b", depends_on="name:a"), candidate("c")]
        assert shown(resolve(roots, "c")) == ["c"]


NAMES, STACKS, TAGS = "abcdefgh", ("s", "t", "u"), ("x", "y", "z")
QUERIES = [
    *TAGS,
    *(f"name:{name}" for name in NAMES),
    "x or y",
    "x and not name:a",
    "not x",
    "dir:[ab]*",
    "",
    "a in dir",
]


@dataclass
class Case:
    candidates: list[Candidate]
    stacks: dict[str, Stack]
    changed: set[Key]
    found: dict[Key, set[Key]] = field(default_factory=dict)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    candidates = []
    for stack in STACKS:
        for name in draw(st.sets(st.sampled_from(NAMES))):
            query = draw(st.none() | st.sampled_from(QUERIES))
            candidates.append(candidate(name, stack, query, " ".join(draw(st.sets(st.sampled_from(TAGS))))))
    others = {name: st.frozensets(st.sampled_from([each for each in STACKS if each != name])) for name in STACKS}
    stacks = {
        name: Stack(
            name,
            apply_after=draw(others[name]),
            plan_after=draw(others[name]),
            modified_by=draw(others[name]),
            run_strategy=draw(st.sampled_from(list(RunStrategy))),
        )
        for name in STACKS
    }
    keys = [each.key for each in candidates] or [("a", "s")]
    return Case(draw(st.permutations(candidates)), stacks, draw(st.sets(st.sampled_from(keys))))


def depends(one: Candidate, other: Candidate) -> bool:
    inside = one.stack == other.stack and one.key != other.key
    return inside and one.depends_on is not None and one.depends_on.matches(other.tagged)


def naive_members(case: Case) -> set[Key]:
    """Add, until nothing is to be added, what some member pulls in."""
    found = {each.key for each in case.candidates} & case.changed
    while True:
        pulled = {
            each.key
            for each in case.candidates
            for other in case.candidates
            if other.key in found
            and (
                depends(each, other)
                or other.stack in case.stacks[each.stack].modified_by
                or (other.stack == each.stack and case.stacks[each.stack].run_strategy is ALL_FOR_ONE)
            )
        }
        if pulled <= found:
            return found
        found |= pulled


def naive_waits(case: Case, members: set[Key], *, layered: bool) -> dict[Key, set[Key]]:
    chosen = [each for each in case.candidates if each.key in members]

    def waits(one: Candidate, other: Candidate) -> bool:
        stack = case.stacks[one.stack]
        return (
            depends(one, other) or other.stack in stack.plan_after or (not layered and other.stack in stack.apply_after)
        )

    return {one.key: {other.key for other in chosen if waits(one, other)} for one in chosen}


def naive_order(waits: dict[Key, set[Key]]) -> list[Key] | None:
    """Take the smallest that waits for nothing that was not taken; None when nothing can be taken any more."""
    order: list[Key] = []
    while len(order) < len(waits):
        ready = [key for key, before in waits.items() if key not in order and before <= set(order)]
        if not ready:
            return None
        order.append(min(ready))
    return order


def naive_layers(order: list[Key], waits: dict[Key, set[Key]]) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for key in order:
        found[key] = 1 + max((found[before] for before in waits[key]), default=0)
    return found


@examples(300)
@given(cases())
def test_members_order_and_layers_are_what_the_definitions_say(case):
    members = naive_members(case)
    waits = naive_waits(case, members, layered=False)
    order = naive_order(waits)
    if order is None:
        with pytest.raises(CyclicChange) as refused:
            change_set(case.candidates, case.stacks, case.changed)
        assert len(refused.value.cycle) > 1
        return
    found = change_set(case.candidates, case.stacks, case.changed)
    assert [member.key for member in found.members] == order
    expected = naive_layers(order, naive_waits(case, members, layered=True))
    assert {member.key: member.layer for member in found.members} == expected
    for member in found.members:
        named = {(name, member.stack) for name in member.waits.roots}
        gates = {*member.waits.plan_after, *member.waits.apply_after}
        assert named | {key for key in members if key[1] in gates} == waits[member.key]

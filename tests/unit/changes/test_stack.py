"""What follows for leaves from declared stacks: groups pushed down, rules closed, and what cannot be used together."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.changes.rules.stack import (
    RunStrategy,
    Stack,
    StackDefinition,
    StackRules,
    examine_stacks,
    resolve_stacks,
)
from tidegate.changes.rules.wave import WaveRules
from tidegate.rules.errors import StackCycle, StackGroupsDisagree, StackInItself, UnknownStack
from tidegate.rules.graphs import Cycle, closed, in_order


def leaf(name: str, *, variables=(), run_strategy=None, **rules) -> StackDefinition:
    return StackDefinition(name, (), tuple(variables), StackRules(**rules), run_strategy)


def group(name: str, *stacks: str, variables=(), run_strategy=None, **rules) -> StackDefinition:
    return StackDefinition(name, stacks, tuple(variables), StackRules(**rules), run_strategy)


def mistake(*definitions: StackDefinition):
    """Return the only mistake in stacks."""
    (found,), stacks = examine_stacks(definitions)
    assert stacks == {}
    with pytest.raises(type(found), match="Stack"):
        resolve_stacks(definitions)
    return found


class TestTheDefaultStack:
    def test_without_stacks_there_is_one_that_says_nothing(self):
        assert resolve_stacks(()) == {"default": Stack("default")}

    def test_it_stands_beside_others_and_rules_may_name_it(self):
        stacks = resolve_stacks([leaf("prod", apply_after=("default",))])
        assert list(stacks) == ["prod", "default"]
        assert stacks["prod"].apply_after == {"default"}

    def test_a_declared_one_takes_its_place(self):
        stacks = resolve_stacks([leaf("default", variables=[("A", "1")]), leaf("x")])
        assert stacks == {"default": Stack("default", variables=(("A", "1"),)), "x": Stack("x")}

    def test_a_stack_group_of_this_name_holds_no_roots(self):
        assert list(resolve_stacks([group("default", "x"), leaf("x")])) == ["x"]


class TestStackGroups:
    def test_what_they_say_is_pushed_down_to_all_leaves(self):
        stacks = resolve_stacks(
            [
                group("all", "live", variables=[("A", "all"), ("B", "all"), ("C", "all")], auto_apply=True),
                group("live", "prod", "dev", variables=[("B", "live"), ("C", "live")], apply_after=("base",)),
                leaf("prod", variables=[("C", "prod"), ("D", "")], apply_after=("dev",)),
                leaf("dev", auto_apply=False),
                leaf("base"),
            ]
        )
        prod = Stack(
            "prod",
            ("live", "all"),
            (("A", "all"), ("B", "live"), ("C", "prod"), ("D", "")),
            frozenset({"dev", "base"}),
            auto_apply=True,
        )
        assert stacks["prod"] == prod
        assert stacks["dev"].auto_apply is False
        assert stacks["dev"].variables == (("A", "all"), ("B", "live"), ("C", "live"))

    def test_a_rule_that_names_one_means_all_its_leaves(self):
        stacks = resolve_stacks(
            [
                leaf("late", plan_after=("outer",)),
                group("outer", "inner", "a"),
                group("inner", "b"),
                leaf("a"),
                leaf("b"),
            ]
        )
        assert stacks["late"].plan_after == {"a", "b"}

    def test_rules_that_a_stack_group_gave_are_closed_like_others(self):
        """Real systems lose steps that come from a group, or lead through one two names away."""
        stacks = resolve_stacks(
            [
                group("live", "prod", apply_after=("tested",)),
                leaf("prod"),
                group("tested", "staging"),
                leaf("staging", apply_after=("early",)),
                group("early", "dev"),
                leaf("dev"),
            ]
        )
        assert stacks["prod"].apply_after == {"staging", "dev"}

    def test_a_strategy_is_inherited_as_well(self):
        stacks = resolve_stacks(
            [
                group("n", "a", "b", run_strategy=RunStrategy.ALL_FOR_ONE),
                leaf("a"),
                leaf("b", run_strategy=RunStrategy.ONE_FOR_ONE),
            ]
        )
        assert [stacks[name].run_strategy for name in ("a", "b")] == [RunStrategy.ALL_FOR_ONE, RunStrategy.ONE_FOR_ONE]

    def test_the_nearest_counts_over_the_shortest_way(self):
        stacks = resolve_stacks(
            [
                group("near", "a", variables=[("V", "near")]),
                group("far", "between", "a", variables=[("W", "far")]),
                group("between", "a", variables=[("W", "far")]),
                group("top", "near", "far", variables=[("V", "top")]),
                leaf("a"),
            ]
        )
        assert stacks["a"].within == ("between", "far", "near", "top")
        assert stacks["a"].variables == (("V", "near"), ("W", "far"))

    @pytest.mark.parametrize(
        ("said", "path"),
        [
            ([{"auto_apply": True}, {"auto_apply": False}], ("auto_apply",)),
            ([{"variables": [("R", "eu")]}, {"variables": [("R", "us")]}], ("variables", "R")),
            (
                [{"run_strategy": RunStrategy.ALL_FOR_ONE}, {"run_strategy": RunStrategy.ONE_FOR_ONE}],
                ("run_strategy",),
            ),
        ],
    )
    def test_two_that_are_equally_near_may_not_disagree(self, said, path):
        definitions = [group("left", "a", **said[0]), group("right", "a", **said[1])]
        found = mistake(*definitions, leaf("a"))
        assert isinstance(found, StackGroupsDisagree)
        assert (found.stack, found.path) == ("right", path)
        assert str(found) == (
            f"Stack 'right': it and 'left' set {'.'.join(path)} differently, and 'a' is in both. Set it in 'a' "
            "itself, or set the same value in both."
        )
        assert not examine_stacks([*definitions, leaf("a", **said[0])])[0]

    def test_not_more_mistakes_are_told_than_people_read(self):
        many = [(f"V{number}", "x") for number in range(50)]
        other = [(name, "y") for name, _ in many]
        found, _ = examine_stacks([group("l", "a", variables=many), group("r", "a", variables=other), leaf("a")])
        assert len(found) == 20


class TestRules:
    def test_each_kind_is_closed_by_itself(self):
        stacks = resolve_stacks(
            [
                leaf("dev"),
                leaf("staging", apply_after=("dev",)),
                leaf("prod", apply_after=("staging",), plan_after=("base",)),
                leaf("base", apply_after=("seed",)),
                leaf("seed"),
            ]
        )
        assert stacks["prod"].apply_after == {"staging", "dev"}
        assert stacks["prod"].plan_after == {"base"}

    def test_what_modifies_a_stack_is_planned_before_it(self):
        stacks = resolve_stacks([leaf("a"), leaf("b", modified_by=("a",)), leaf("c", modified_by=("b",))])
        assert stacks["c"].modified_by == stacks["c"].plan_after == {"a", "b"}

    @pytest.mark.parametrize("plan_after", [(), ("x",)])
    def test_unless_it_is_written_after_what_it_is_planned(self, plan_after):
        stacks = resolve_stacks([leaf("a"), leaf("x"), leaf("b", modified_by=("a",), plan_after=plan_after)])
        assert stacks["b"].modified_by == {"a"}
        assert stacks["b"].plan_after == set(plan_after)

    def test_a_leaf_may_take_away_the_order_that_its_stack_group_would_give(self):
        stacks = resolve_stacks(
            [group("n", "b", "c", modified_by=("a",)), leaf("a"), leaf("b", plan_after=()), leaf("c")]
        )
        assert (stacks["b"].plan_after, stacks["c"].plan_after) == (frozenset(), {"a"})
        assert stacks["b"].modified_by == {"a"}

    def test_stacks_may_modify_each_other_where_no_plan_waits(self):
        stacks = resolve_stacks(
            [leaf("a", modified_by=("b",), plan_after=()), leaf("b", modified_by=("a",), plan_after=())]
        )
        assert stacks["a"].modified_by == {"b"}
        assert stacks["b"].modified_by == {"a"}


class TestMistakes:
    @pytest.mark.parametrize(
        ("definition", "path"),
        [
            (group("n", "prodd"), ("contains",)),
            (leaf("n", apply_after=("prodd",)), ("apply_after",)),
            (leaf("n", plan_after=("prodd",)), ("plan_after",)),
            (leaf("n", modified_by=("prodd",)), ("modified_by",)),
        ],
    )
    def test_a_stack_that_is_not_declared_is_named_with_the_nearest_that_is(self, definition, path):
        found = mistake(definition, leaf("prod"))
        assert isinstance(found, UnknownStack)
        assert (found.stack, found.path, found.named) == ("n", path, "prodd")
        assert str(found) == (
            "Stack 'n': the stack 'prodd' is not declared. Did you mean 'prod'? Stacks are declared under stacks.names."
        )

    def test_all_unknown_ones_are_told_without_a_guess_where_none_is_near(self):
        found, _ = examine_stacks([leaf("a", apply_after=("xyz", "a", "zyx"))])
        assert [str(each) for each in found] == [
            f"Stack 'a': the stack {name!r} is not declared. Stacks are declared under stacks.names."
            for name in ("xyz", "zyx")
        ]

    def test_a_stack_group_in_itself_is_refused(self):
        found = mistake(group("b", "c"), group("c", "a"), group("a", "b"))
        assert isinstance(found, StackInItself)
        assert (found.stack, found.path) == ("a", ("contains",))
        assert str(found) == (
            "Stack 'a': it contains itself: a → b → c → a. Remove one of these from its parent stack."
        )
        assert "a → a." in str(mistake(group("a", "a")))

    @pytest.mark.parametrize(
        ("definitions", "stack", "path", "told"),
        [
            ([leaf("a", apply_after=("a",))], "a", "apply_after", "a → a. Remove one of these rules."),
            (
                [leaf("c", apply_after=("a",)), leaf("a", plan_after=("b",)), leaf("b", apply_after=("c",))],
                "a",
                "plan_after",
                "a → b → c → a. Remove one of these rules.",
            ),
            (
                [group("n", "a", "b", apply_after=("c",)), leaf("a"), leaf("b"), leaf("c", plan_after=("a",))],
                "n",
                "apply_after",
                "a → c → a, because 'a' inherits the rules of 'n'. Remove one of these rules.",
            ),
            (
                [leaf("a", modified_by=("b",)), leaf("b", modified_by=("a",))],
                "a",
                "modified_by",
                "a → b → a. Remove one of these rules, or add plan_after: [] next to modified_by",
            ),
            (
                [group("n", "a", "b", apply_after=("a",)), leaf("a"), leaf("b")],
                "n",
                "apply_after",
                "a → a, because 'a' inherits",
            ),
        ],
    )
    def test_stacks_that_wait_for_each_other_are_shown(self, definitions, stack, path, told):
        found = mistake(*definitions)
        assert isinstance(found, StackCycle)
        assert (found.stack, found.path) == (stack, (path,))
        assert str(found).startswith(f"Stack {stack!r}: dependency cycle: {told}")

    def test_a_long_cycle_is_shortened(self):
        ring = [leaf(f"s{number:03}", apply_after=(f"s{(number + 1) % 100:03}",)) for number in range(100)]
        assert "s000 → s001 → s002 → s003 → s004 → s005 → s006 → s007 → s008 → s009 → … → s000." in str(mistake(*ring))


NAMES = [f"s{number}" for number in range(7)]
graphs = st.fixed_dictionaries({name: st.lists(st.sampled_from(NAMES), max_size=4) for name in NAMES})


def naive_closure(leads_to: dict[str, list[str]]) -> dict[str, set[str]]:
    """Add what each name leads to, until nothing is added any more."""
    found = {name: set(names) for name, names in leads_to.items()}
    while True:
        more = {name: names.union(*(found[each] for each in names)) for name, names in found.items()}
        if more == found:
            return found
        found = more


@given(graphs)
def test_a_closure_is_the_naive_one(leads_to):
    assert closed(leads_to) == naive_closure(leads_to)


@given(graphs)
def test_names_are_in_order_or_lead_back_to_themselves(leads_to):
    circular = any(name in found for name, found in naive_closure(leads_to).items())
    if circular:
        with pytest.raises(Cycle) as caught:
            in_order(leads_to)
        cycle = caught.value.nodes
        assert cycle[0] == min(cycle)
        assert all(after in leads_to[name] for name, after in pairwise((*cycle, cycle[0])))
    else:
        order = in_order(leads_to)
        assert all(order.index(each) < order.index(name) for name in leads_to for each in leads_to[name])


definitions = st.lists(
    st.tuples(
        st.sets(st.integers(0, 6), max_size=3),
        st.sets(st.integers(0, 6), max_size=2),
        st.sets(st.integers(0, 6), max_size=2),
        st.none() | st.sets(st.integers(0, 6), max_size=2),
    ),
    min_size=7,
    max_size=7,
)


def names(numbers) -> tuple[str, ...]:
    return tuple(NAMES[number] for number in sorted(numbers))


@given(definitions)
def test_stacks_are_refused_or_wait_for_exactly_what_their_definitions_lead_to(parts):
    """Groups hold later names only, so that none is in itself; rules lead anywhere."""
    declared = [
        StackDefinition(
            NAMES[number],
            names(each for each in inner if each > number),
            rules=StackRules(names(apply_after), None if plan_after is None else names(plan_after), names(modified_by)),
        )
        for number, (inner, apply_after, modified_by, plan_after) in enumerate(parts)
    ]
    by_name = {each.name: each for each in declared}

    def leaves(name: str) -> set[str]:
        inner = by_name[name].contains if name in by_name else ()
        return {name} if not inner else set().union(*map(leaves, inner))

    said = {
        name: [each.rules for each in declared if name in leaves(each.name)]
        for name, definition in by_name.items()
        if not definition.contains
    }

    def direct(kind: str) -> dict[str, list[str]]:
        return {
            name: [found for each in rules for named in getattr(each, kind) or () for found in leaves(named)]
            for name, rules in said.items()
        }

    planned, modified = direct("plan_after"), direct("modified_by")
    for name, rules in said.items():
        if all(each.plan_after is None for each in rules):
            planned[name] = modified[name]
    waits = naive_closure({name: [*direct("apply_after")[name], *planned[name]] for name in said})
    mistakes, stacks = examine_stacks(declared)
    assert bool(mistakes) is any(name in names for name, names in waits.items())
    if stacks:
        assert {each.name: each.apply_after for each in stacks.values() if each.name in said} == naive_closure(
            direct("apply_after")
        )
        assert {name: stacks[name].plan_after for name in said} == naive_closure(planned)
        assert {name: stacks[name].modified_by for name in said} == {
            name: found - {name} for name, found in naive_closure(modified).items()
        }


@pytest.mark.parametrize(
    "definitions",
    [
        [
            group("n", *(f"l{i}" for i in range(500)), modified_by=("n",), plan_after=()),
            *(leaf(f"l{i}") for i in range(500)),
        ],
        [leaf(f"l{i}", apply_after=tuple(f"l{j}" for j in range(i))) for i in range(500)],
        [group(f"n{i}", f"n{i + 1}", variables=[("A", str(i))]) for i in range(499)] + [leaf("n499")],
        [leaf(f"l{i}", apply_after=tuple(f"x{j}" for j in range(i))) for i in range(500)],
    ],
    ids=["all by all", "dense", "deep", "unknown"],
)
def test_hundreds_of_stacks_are_resolved_at_once(definitions):
    begun = time.process_time()
    examine_stacks(definitions)
    assert time.process_time() - begun < 5


class TestWaves:
    def test_a_stack_takes_what_it_does_not_say_from_the_nearest_group(self):
        stacks = resolve_stacks(
            [
                group("all", "fleet", max_concurrent=9, soak=60),
                group("fleet", "a", "b", stop_on_failures=2, max_concurrent=5),
                leaf("a", max_concurrent=1),
                leaf("b", soak=0),
            ]
        )
        assert (stacks["a"].wave, stacks["a"].soak) == (WaveRules(1, 2), 60)
        assert (stacks["b"].wave, stacks["b"].soak) == (WaveRules(5, 2), 0)
        assert (stacks["default"].wave, stacks["default"].soak) == (WaveRules(), 0)

    def test_groups_at_one_distance_must_agree(self):
        found = mistake(group("x", "a", max_concurrent=1), group("y", "a", max_concurrent=2), leaf("a"))
        assert isinstance(found, StackGroupsDisagree)

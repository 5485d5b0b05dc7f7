"""Lists of deployments: those of one change stand together, stack by stack, as they are deployed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.builders import amended, any_root, deployment_in
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.summary import summary_of
from tidegate.web.grouping import by_change, grouped


def one_of(root, stack="default", change="c1", seconds=0, **fields):
    deployment = deployment_in(State.APPLIED, root=any_root(name=root), stack=stack, change_set=change)
    at = deployment.request.at + timedelta(seconds=seconds)
    return summary_of(
        amended(deployment, id=f"{root}-{stack}-{change}", request=replace(deployment.request, at=at), **fields)
    )


def shown(*deployments):
    return [(group.stack, [one.root.name for one in group.deployments]) for group in grouped(deployments)]


def test_stacks_stand_in_the_order_in_which_they_are_applied_whatever_their_names():
    assert shown(
        one_of("a", "default"),
        one_of("b", "dev"),
        one_of("c", "prod", waits=Waits(apply_after=("staging", "elsewhere"))),
        one_of("d", "staging", waits=Waits(plan_after=("dev",), apply_after=("staging",))),
    ) == [("default", ["a"]), ("dev", ["b"]), ("staging", ["d"]), ("prod", ["c"])]


def test_roots_of_a_stack_stand_in_the_order_of_their_layers_and_attempts():
    again = one_of("b", "prod", seconds=9)
    assert grouped([again, one_of("b", "prod"), one_of("a", "prod", layer=2)])[0].deployments == (
        one_of("b", "prod"),
        again,
        one_of("a", "prod", layer=2),
    )


def test_stacks_that_wait_for_each_other_are_shown_all_the_same():
    cycle = [
        one_of("a", "x", waits=Waits(plan_after=("y",))),
        one_of("b", "y", waits=Waits(plan_after=("x",))),
    ]
    assert sorted(shown(*cycle)) == [("x", ["a"]), ("y", ["b"])]


def test_what_is_alone_of_its_change_has_no_group():
    alone = one_of("a", change="c2"), one_of("b", change=""), one_of("c", change="")
    assert [(group.change, len(group.deployments)) for group in grouped(alone)] == [("", 1), ("", 2)]


def test_a_history_has_one_row_for_each_change_with_the_state_that_needs_a_person_most():
    failed = one_of("b", "dev", state=State.APPLY_FAILED)
    first, alone, second = by_change([one_of("a", "prod"), one_of("m", change=""), failed, one_of("z", change="c2")])
    assert (first.change, first.state, first.stacks) == ("c1", State.APPLY_FAILED, {"dev": 1, "prod": 1})
    assert first.states == ((State.APPLY_FAILED, 1), (State.APPLIED, 1))
    assert (alone.change, second.change) == ("", "c2")


def test_a_change_that_older_deployments_may_belong_to_is_left_out_unless_it_is_the_only_one():
    newest, oldest = one_of("a", change="c2"), one_of("a", change="c1")
    assert [row.change for row in by_change([newest, oldest], is_cut=True)] == ["c2"]
    assert [row.change for row in by_change([newest], is_cut=True)] == ["c2"]
    assert by_change([]) == []

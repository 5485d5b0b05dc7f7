"""Roots and stacks of a repository as a grid."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import amended, any_deployed, any_drift_finding, any_queue, any_root, deployment_in
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.queue.get_queue import RootView
from tidegate.deploys.rules.queue import QueueHead, Standing
from tidegate.deploys.rules.state import State
from tidegate.web.root_grid import MOST_COLUMNS, root_grid


def placed(number, stack, state=State.APPLIED, after=(), root="network"):
    one = deployment_in(state, number, root=any_root(name=root))
    return amended(one, stack=stack, waits=Waits(apply_after=after))


def a_root(*deployments, running=None, head=None, name="network"):
    last, *others = deployments or (None,)
    return RootView(name, head or QueueHead(any_queue(name)), running, last, tuple(others))


def test_stacks_are_columns_in_the_order_in_which_they_are_deployed():
    dev, prod = placed(1, "dev"), placed(3, "prod", after=("staging",))
    staging = placed(2, "staging", after=("dev",), root="orders")
    grid = root_grid([a_root(dev, prod), a_root(staging, name="orders")], [])
    assert grid.columns == ("dev", "staging", "prod")
    network, orders = grid.rows
    assert [each.deployment for each in network.cells] == [dev, prod]
    assert network.cell("staging") is None
    assert orders.cell("staging").deployment == staging


def test_what_runs_is_shown_before_what_ended():
    last, running = placed(2, "dev", State.APPLY_FAILED), placed(1, "dev", State.APPLYING)
    (row,) = root_grid([a_root(last, running=running)], []).rows
    assert row.cell("dev").deployment == running


def test_of_a_root_in_several_stacks_each_has_what_was_deployed_in_it():
    dev, prod = any_deployed(1), any_deployed(2)
    head = QueueHead(any_queue(), deployed=prod, by_stack=(Standing("dev", dev), Standing("prod", prod)))
    (row,) = root_grid([a_root(placed(1, "dev"), placed(2, "prod"), head=head)], []).rows
    assert [row.cell(each).deployed for each in ("dev", "prod")] == [dev, prod]


def test_drift_stands_in_the_stack_where_it_was_found():
    found = replace(any_drift_finding(), stack="prod")
    (row,) = root_grid([a_root(placed(1, "dev"), placed(2, "prod"))], [found]).rows
    assert [row.cell(each).drift for each in ("dev", "prod")] == [None, found]


def test_many_stacks_are_no_columns_and_a_root_that_was_never_deployed_is_in_none():
    roots = [a_root(placed(n, f"s{n}", root=f"r{n}"), name=f"r{n}") for n in range(MOST_COLUMNS + 1)]
    grid = root_grid([*roots, a_root(name="new")], [])
    assert grid.columns == ()
    assert [len(row.cells) for row in grid.rows] == [1] * (MOST_COLUMNS + 1) + [0]

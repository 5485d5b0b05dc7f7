"""What the soak's file says is read as Tidegate reads it, by code that knows nothing of Tidegate."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak.stacks import RULES, Rules, configuration, names, order_of
from tests.resolving import resolve
from tidegate.changes.rules.change_set import change_set
from tidegate.deploys.rules.review_rule import PlanReview

ROOTS = names(8)
JOURNAL = Path("/journal")


def test_roots_are_spread_over_tiers_and_some_are_in_none():
    assert ROOTS == ["dev-1", "staging-1", "prod-1", "free-1", "dev-2", "staging-2", "prod-2", "free-2"]


def test_stacks_go_first_over_any_number_of_steps_and_dependencies_inside_one():
    order = order_of(configuration(ROOTS, Rules({"staging": ("dev",), "prod": ("staging",)}, ("dev",)), JOURNAL))
    assert order.before["prod-2"] == ("dev-1", "dev-2", "prod-1", "staging-1", "staging-2")
    assert order.before["dev-2"] == ("dev-1",)
    assert order.before["free-1"] == order.before["dev-1"] == ()
    assert order.unreviewed == ("dev-1", "dev-2")
    assert "free-1" not in order.stacks


@pytest.mark.parametrize("rules", RULES)
def test_tidegate_lets_the_same_roots_go_first(rules):
    text = configuration(ROOTS, rules, JOURNAL)
    order, resolved = order_of(text), resolve(text)
    whole = change_set(
        [each.candidate for each in resolved.roots], resolved.stacks, [each.key for each in resolved.roots]
    )
    for member in whole.members:
        earlier = {each.root.name for each in whole.members if each.stack in member.waits.apply_after}
        assert {*member.waits.roots, *earlier} == set(order.before[member.root.name])
        assert not member.waits.plan_after
    never = {each.root.name for each in resolved.roots if each.review_rule.when is PlanReview.NEVER}
    assert never == set(order.unreviewed)

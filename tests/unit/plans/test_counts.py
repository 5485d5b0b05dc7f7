"""What a plan changes, in words."""

import pytest

from tidegate.plans.rules.counts import counts, each_count
from tidegate.plans.rules.plan import PlannedChanges


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (PlannedChanges(add=9, change=6, destroy=1), "9 to add, 6 to change, 1 to destroy"),
        (PlannedChanges(destroy=1, replace=2), "1 to destroy, 2 to replace"),
        (PlannedChanges(outputs=1, actions=1), "1 output to change, 1 action to invoke"),
        (
            PlannedChanges(outputs=2, moved=1, actions=3),
            "2 outputs to change, 1 to move, import or forget, 3 actions to invoke",
        ),
        (PlannedChanges(deferred=1), "1 deferred"),
        (PlannedChanges(), "nothing to change"),
    ],
)
def test_a_plan_is_counted_in_one_format(changes, words):
    assert counts(changes) == words


def test_each_count_says_of_what_kind_it_is():
    assert [each.kind for each in each_count(PlannedChanges(add=1, replace=1))] == ["add", "replace"]

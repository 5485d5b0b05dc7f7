from __future__ import annotations

from typing import Any

import pytest

from tidegate.plans.rules.plan import KEPT_ADDRESSES, KEPT_CHARACTERS, PlannedChanges, planned_changes


def plan(*changes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"format_version": "1.2", "resource_changes": list(changes), **fields}


def change(*actions: str, address: str = "aws_sqs_queue.a", **fields: Any) -> dict[str, Any]:
    details = {"actions": list(actions), **({"importing": fields.pop("importing")} if "importing" in fields else {})}
    return {"address": address, "change": details, **fields}


@pytest.mark.parametrize(
    ("resource", "counted"),
    [
        (change("create"), PlannedChanges(add=1)),
        (change("update"), PlannedChanges(change=1)),
        (change("delete"), PlannedChanges(destroy=1, destroyed=("aws_sqs_queue.a",))),
        (change("delete", "create"), PlannedChanges(replace=1, replaced=("aws_sqs_queue.a",))),
        (change("create", "delete"), PlannedChanges(replace=1, replaced=("aws_sqs_queue.a",))),
        (change("no-op", previous_address="aws_sqs_queue.b"), PlannedChanges(moved=1)),
        (change("no-op", importing={"id": "x"}), PlannedChanges(moved=1)),
        (change("forget"), PlannedChanges(moved=1)),
        (change("hibernate"), PlannedChanges(change=1)),
        (change("no-op", "renew"), PlannedChanges(change=1)),
        (change("create", "forget"), PlannedChanges(add=1)),
        (change("no-op"), PlannedChanges()),
        (change("read"), PlannedChanges()),
    ],
)
def test_a_resource_counts_once(resource, counted):
    assert planned_changes(plan(resource)) == counted
    assert counted.any is (counted != PlannedChanges())


def test_changed_outputs_alone_are_changes():
    outputs = {"a": {"actions": ["update"]}, "b": {"actions": ["no-op"]}}
    changes = planned_changes(plan(output_changes=outputs))
    assert changes == PlannedChanges(outputs=1)
    assert changes.any


@pytest.mark.parametrize(
    ("fields", "counted"),
    [
        ({"action_invocations": [{"address": "action.aws_lambda_invoke.a"}]}, PlannedChanges(actions=1)),
        ({"deferred_changes": [{"reason": "unknown_count"}]}, PlannedChanges(deferred=1)),
        ({"deferred_action_invocations": [{"reason": "deferred_prereq"}]}, PlannedChanges(deferred=1)),
    ],
)
def test_actions_and_deferred_changes_alone_are_changes(fields, counted):
    assert planned_changes(plan(change("no-op"), **fields)) == counted
    assert counted.any


def test_a_plan_without_resources_is_empty():
    assert not planned_changes({"format_version": "1.2"}).any


def test_a_failing_check_changes_nothing():
    assert not planned_changes(plan(change("no-op"), checks=[{"status": "fail"}])).any


def test_all_destroyed_resources_count_and_the_first_are_named():
    many = [change("delete", address=f"a.b[{number}]") for number in range(KEPT_ADDRESSES + 1)]
    changes = planned_changes(plan(*many))
    assert (changes.destroy, len(changes.destroyed)) == (KEPT_ADDRESSES + 1, KEPT_ADDRESSES)


def test_of_a_long_address_the_beginning_is_kept():
    long, short = "a.b[" + "k" * 100_000, "a.b[" + "k" * (KEPT_CHARACTERS - 4)
    changes = planned_changes(plan(change("delete", address=long), change("delete", "create", address=short)))
    (destroyed,) = changes.destroyed
    assert (len(destroyed), destroyed[-2:]) == (KEPT_CHARACTERS, "k…")
    assert changes.replaced == (short,)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"format_version": "1.2", "resource_changes": None},
        plan({"address": "a.b"}),
        plan("text"),  # type: ignore[arg-type]
        plan(output_changes=None),
        plan(output_changes={"a": None}),
        plan(action_invocations=None),
        plan(deferred_changes=None),
    ],
)
def test_an_unreadable_plan_is_never_an_empty_one(document):
    with pytest.raises(ValueError, match="not the JSON output of a plan"):
        planned_changes(document)

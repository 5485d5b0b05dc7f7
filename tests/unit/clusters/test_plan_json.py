"""A cluster's plan in the form of an engine's plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.clusters.clusters import a_plan, any_cluster, any_current, any_spec
from tidegate.clusters.rules.plan_json import plan_document
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.deploys.rules.cluster import ClusterKind
from tidegate.plans.rules.plan import planned_changes

UPGRADE = Workflow(ClusterKind.MANAGEMENT, Operation.UPGRADE)


def actions(document: dict[str, Any]) -> dict[str, list[str]]:
    return {each["address"]: each["change"]["actions"] for each in document["resource_changes"]}


@pytest.mark.parametrize(
    ("operation", "action"),
    [(Operation.CREATE, "create"), (Operation.UPGRADE, "update"), (Operation.DELETE, "delete")],
)
def test_the_cluster_and_its_components_are_resources(operation: Operation, action: str) -> None:
    found = actions(plan_document(a_plan(Workflow(ClusterKind.MANAGEMENT, operation))))
    assert found["cluster.hub"] == [action]
    assert found["component.any-networking"] == [action]


def test_only_new_components_leave_the_cluster_as_it_is() -> None:
    found = actions(plan_document(a_plan(Workflow(ClusterKind.MANAGEMENT, Operation.UPGRADE_COMPONENTS))))
    assert found["cluster.hub"] == ["no-op"]


def test_an_upgrade_of_components_alone_leaves_the_cluster_as_it_is() -> None:
    current = any_current(kubernetes="1.33", cluster_hash="new")
    found = actions(plan_document(a_plan(Workflow(ClusterKind.WORKLOAD, Operation.UPGRADE), current=current)))
    assert found["cluster.shop"] == ["no-op"]


def test_a_component_that_is_gone_from_the_declaration_is_deleted() -> None:
    cluster = any_cluster(components=())
    found = actions(plan_document(a_plan(UPGRADE, declared=cluster, spec=any_spec())))
    assert found["component.any-networking"] == ["delete"]


def test_what_has_no_versions_to_change_has_none() -> None:
    plan = replace(a_plan(UPGRADE), versions=())
    (cluster,) = plan_document(plan)["resource_changes"]
    assert (cluster["change"]["before"], cluster["change"]["after"]) == (None, None)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda each: each.name)
def test_every_due_task_counts_as_a_change(workflow: Workflow) -> None:
    plan = a_plan(workflow)
    assert planned_changes(plan_document(plan)).actions == sum(each.due for each in plan.steps)


def test_nothing_to_do_changes_nothing() -> None:
    document = plan_document(None)
    assert not planned_changes(document).any
    assert document["tidegate_cluster"] is None


def test_the_changes_of_a_root_module_come_first() -> None:
    change = {"address": "aws_eks_cluster.this", "change": {"actions": ["create"]}}
    document = plan_document(a_plan(UPGRADE), {"format_version": "1.2", "resource_changes": [change]})
    assert next(iter(actions(document))) == "aws_eks_cluster.this"

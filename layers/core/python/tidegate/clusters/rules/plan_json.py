"""A cluster's plan in the form of an engine's JSON plan, so that policies and pages read both alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tidegate.clusters.rules.plan import KUBERNETES, ClusterPlan, VersionChange
from tidegate.clusters.rules.workflow import Operation

#: The newest version of the form that Terraform 1.11 writes.
_FORMAT = "1.2"
_ACTIONS = {
    Operation.CREATE: ["create"],
    Operation.UPGRADE: ["update"],
    Operation.UPGRADE_COMPONENTS: ["no-op"],
    Operation.DELETE: ["delete"],
}


def plan_document(plan: ClusterPlan | None, engine: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the document: the cluster and its components as resources, due tasks as actions that are invoked.

    ``plan`` is None if nothing is to be done. ``engine`` is the plan of the provider's root module, whose changes come
    first; ``tidegate_cluster`` is the cluster's own plan, for policies.
    """
    document: dict[str, Any] = {"format_version": _FORMAT, **(engine or {})}
    document["resource_changes"] = [*document.get("resource_changes", []), *(_resources(plan) if plan else ())]
    document["action_invocations"] = [*document.get("action_invocations", []), *(_tasks(plan) if plan else ())]
    document["tidegate_cluster"] = _cluster(plan) if plan else None
    return document


def _resources(plan: ClusterPlan) -> list[dict[str, Any]]:
    name = plan.cluster.name
    versions = [each for each in plan.versions if each.name not in _of_cluster(plan)]
    actions = _ACTIONS[plan.workflow.operation]
    if actions == ["update"] and all(each.task != "upgrade-cluster" or not each.due for each in plan.steps):
        actions = ["no-op"]
    return [
        _resource(f"cluster.{name}", "cluster", name, actions, *_sides(plan)),
        *(
            _resource(f"component.{each.name}", "component", each.name, _action(each), each.before, each.after)
            for each in versions
        ),
    ]


def _of_cluster(plan: ClusterPlan) -> tuple[str, ...]:
    """Return the names of versions that are the cluster's own."""
    return KUBERNETES, f"provider {plan.cluster.provider}"


def _sides(plan: ClusterPlan) -> tuple[dict[str, str] | None, dict[str, str] | None]:
    own = [each for each in plan.versions if each.name in _of_cluster(plan)]
    before = {each.name: each.before for each in own if each.before}
    after = {each.name: each.after for each in own if each.after}
    return before or None, after or None


def _action(change: VersionChange) -> list[str]:
    if not change.before:
        return ["create"]
    return ["update"] if change.after else ["delete"]


def _resource(address: str, kind: str, name: str, actions: list[str], before: Any, after: Any) -> dict[str, Any]:
    return {
        "address": address,
        "mode": "managed",
        "type": kind,
        "name": name,
        "change": {"actions": actions, "before": before, "after": after},
    }


def _tasks(plan: ClusterPlan) -> list[dict[str, Any]]:
    return [
        {"address": f"task.{each.task}", "type": "task", "name": each.task, "config_values": {"why": each.why}}
        for each in plan.steps
        if each.due
    ]


def _cluster(plan: ClusterPlan) -> dict[str, Any]:
    return {
        "name": plan.cluster.name,
        "kind": plan.cluster.kind,
        "provider": plan.cluster.provider,
        "operation": plan.workflow.operation,
        "versions": [asdict(each) for each in plan.versions],
        "tasks": [{"task": each.task, "due": each.due, "why": each.why} for each in plan.steps],
    }

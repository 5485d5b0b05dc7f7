"""Clusters for tests: complete and valid, so that a test names only what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tidegate.clusters.rules.construct import build
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.clusters.rules.provider import PROVIDERS, ProviderFacts
from tidegate.clusters.rules.registrar import Binder, Hook, Registrar
from tidegate.clusters.rules.spec import GitOpsAgent, Spec
from tidegate.clusters.rules.workflow import Operation, Workflow
from tidegate.deploys.rules.cluster import (
    ClusterKind,
    ComponentForm,
    ComponentRole,
    CurrentCluster,
    DeclaredCluster,
    DeclaredComponent,
    DeclaredHook,
    HookPoint,
    ProviderName,
)

NAMES = {ClusterKind.MANAGEMENT: "hub", ClusterKind.WORKLOAD: "shop"}
SIMULATED = PROVIDERS[ProviderName.SIMULATED]
TERRAFORM = PROVIDERS[ProviderName.TERRAFORM]


def any_component(role: ComponentRole = ComponentRole.NETWORKING, **fields: Any) -> DeclaredComponent:
    name = f"any-{role}"
    component = DeclaredComponent(name, role, ComponentForm.MANIFESTS, f"components/{name}", "2.0")
    return replace(component, **fields)


def any_cluster(kind: ClusterKind = ClusterKind.MANAGEMENT, **fields: Any) -> DeclaredCluster:
    management = "" if kind is ClusterKind.MANAGEMENT else "hub"
    components = tuple(any_component(role) for role in ComponentRole)
    name = NAMES[kind]
    cluster = DeclaredCluster(
        name, kind, ProviderName.SIMULATED, f"clusters/{name}/cluster.yaml", management, components
    )
    return replace(cluster, **fields)


def any_spec(**fields: Any) -> Spec:
    return replace(Spec("1.33", "new", "new", gitops=GitOpsAgent.FLUX), **fields)


def any_current(**fields: Any) -> CurrentCluster:
    components = tuple((f"any-{role}", "1.0") for role in ComponentRole)
    return replace(CurrentCluster("1.32", "old", ProviderName.SIMULATED, "1", components, cluster_hash="old"), **fields)


def current_for(workflow: Workflow) -> CurrentCluster | None:
    """Return the cluster as it is before a workflow: a management cluster that is not deleted has another to manage."""
    if workflow.operation is Operation.CREATE:
        return None
    manages = workflow.kind is ClusterKind.MANAGEMENT and workflow.operation is not Operation.DELETE
    return any_current(workloads=("shop",) if manages else ())


def a_hook(name: str = "any", **fields: Any) -> Hook:
    return replace(Hook(name, "Does something.", command=("true",)), **fields)


def a_declared_hook(point: HookPoint, task: str = "", **fields: Any) -> DeclaredHook:
    return replace(DeclaredHook("mine", point, task, ("true",)), **fields)


def registering(workflow: Workflow, *hooks: tuple[HookPoint, str, Hook], name: str = "installation") -> Registering:
    """Return a registrar with hooks at places of a workflow."""
    return Registering(name, workflow, hooks)


class Registering(Registrar):
    """Binds hooks at places of one workflow."""

    def __init__(self, name: str, workflow: Workflow, hooks: Sequence[tuple[HookPoint, str, Hook]]) -> None:
        self.name, self._workflow, self.hooks = name, workflow, hooks

    def bind(self, binder: Binder) -> None:
        if binder.workflow == self._workflow:
            for point, task, hook in self.hooks:
                binder.bind(hook, point, task)


class Recording(Registrar):
    """Keeps the binder that it was handed."""

    name = "recording"

    def bind(self, binder: Binder) -> None:
        self.binder = binder


def a_plan(
    workflow: Workflow,
    *registrars: Registrar,
    provider: ProviderFacts = SIMULATED,
    declared: DeclaredCluster | None = None,
    **given: Any,
) -> ClusterPlan:
    """Build a plan in which every task is due, unless the test says otherwise."""
    cluster = declared or any_cluster(workflow.kind)
    current = given.pop("current", current_for(workflow))
    current = current and replace(current, provider=provider.name)
    return build(
        workflow.operation,
        replace(cluster, provider=provider.name),
        given.pop("spec", any_spec()),
        current,
        provider,
        registrars,
        **{"management": "1.33" if cluster.management else "", **given},
    )


def order_of(plan: ClusterPlan) -> Sequence[str]:
    """Return tasks that are due and hooks of a plan in the order in which they run."""
    names = [each.name for each in plan.before]
    for step in plan.steps:
        if step.due:
            names += [*(each.name for each in step.before), step.task, *(each.name for each in step.after)]
    return [*names, *(each.name for each in plan.after), *(each.name for each in plan.always)]

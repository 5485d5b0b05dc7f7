"""Whether a task runs, and why: what only the declared and the current cluster decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidegate.clusters.rules.spec import BootstrapPlace, GitOpsAgent, Spec
from tidegate.clusters.rules.task import Fact, Task
from tidegate.deploys.rules.cluster import CurrentCluster, DeclaredCluster


@dataclass(frozen=True, slots=True)
class Due:
    """Whether a task runs, with the reason as a sentence."""

    due: bool
    why: str


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides. ``bootstrap`` is where a bootstrap cluster lives."""

    declared: DeclaredCluster
    spec: Spec
    current: CurrentCluster | None
    bootstrap: BootstrapPlace


def due(task: Task, situation: Situation) -> Due:
    """Tell whether a task of the workflow runs."""
    if task.capability and situation.bootstrap is BootstrapPlace.NONE:
        return Due(False, "The cluster's file names no bootstrap cluster.")
    return _RULES[task.fact](task, situation)


def _always(task: Task, situation: Situation) -> Due:
    return Due(True, _installing(task, situation) or "It is always done.")


def _components(task: Task, situation: Situation) -> Due:
    installing = _installing(task, situation)
    return Due(bool(installing), installing or f"No component has the role {task.role}.")


def _installing(task: Task, situation: Situation) -> str:
    """Return what is installed. It is applied in any case: the same version may be made of other files."""
    before = dict(situation.current.components) if situation.current else {}
    told = [
        f"{each.name} {_change(before.get(each.name, ''), each.version)}".strip()
        for each in situation.declared.components
        if each.role == task.role
    ]
    return f"It applies {', '.join(told)}." if told else ""


def _change(before: str, after: str) -> str:
    return f"{before} → {after}" if before and before != after else after


def _cluster_changes(_task: Task, situation: Situation) -> Due:
    current, spec = situation.current, situation.spec
    if current and current.kubernetes != spec.kubernetes:
        return Due(True, f"Kubernetes {current.kubernetes} becomes {spec.kubernetes}.")
    if current and current.cluster_hash == spec.cluster_hash:
        return Due(False, "The cluster itself does not change.")
    return Due(True, "The cluster's file or declaration has changed.")


def _gitops(_task: Task, situation: Situation) -> Due:
    agent = situation.spec.gitops
    if agent is GitOpsAgent.NONE:
        return Due(False, "The cluster's file names no GitOps agent.")
    return Due(True, f"{agent} would change back what the workflow changes.")


def _other_clusters(_task: Task, situation: Situation) -> Due:
    others = situation.current.workloads if situation.current else ()
    return Due(bool(others), f"It manages {', '.join(others)}." if others else "It manages no other cluster.")


_RULES: Mapping[Fact, Callable[[Task, Situation], Due]] = {
    Fact.ALWAYS: _always,
    Fact.CLUSTER_CHANGES: _cluster_changes,
    Fact.COMPONENTS: _components,
    Fact.GITOPS: _gitops,
    Fact.OTHER_CLUSTERS: _other_clusters,
}

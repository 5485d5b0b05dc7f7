"""The tasks of each workflow, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidegate.clusters.rules.context import Key
from tidegate.clusters.rules.task import Capability, Fact, Task
from tidegate.clusters.rules.task_catalogue import (
    BACK_UP,
    CONFIGURATION,
    CREATE_BOOTSTRAP,
    CREATE_MANAGEMENT,
    CREATE_WORKLOAD,
    DELETE_BACKUP,
    DELETE_BOOTSTRAP,
    DELETE_MANAGEMENT,
    DELETE_WORKLOAD,
    INSTALL_BOOTSTRAP,
    INSTALL_MANAGEMENT,
    INSTALL_WORKLOAD,
    NETWORKING,
    PAUSE_CLUSTERS,
    PAUSE_GITOPS,
    PIVOT_TO_BOOTSTRAP,
    PIVOT_TO_MANAGEMENT,
    RESUME_CLUSTERS,
    RESUME_GITOPS,
    UPGRADE_CLUSTER,
    UPGRADE_MANAGEMENT,
    UPGRADE_NETWORKING,
    UPGRADE_WORKLOAD,
    VALIDATE,
    WRITE_CONFIGURATION,
)
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.deploys.rules.cluster import ClusterKind


def _finding(*keys: Key) -> Task:
    """Return the validation of a workflow whose clusters are there already: it says how they are reached."""
    return replace(VALIDATE, produces=keys)


def _on(key: Key, task: Task) -> Task:
    return replace(task, needs=(key,))


def _for_upgrade(task: Task) -> Task:
    """Return a task with the bootstrap cluster as an upgrade has it: for providers that do not upgrade in place.

    It deletes nothing and moves nothing when only components change.
    """
    return replace(task, capability=Capability.BOOTSTRAP_UPGRADE, fact=Fact.CLUSTER_CHANGES)


_MANAGEMENT, _WORKLOAD = ClusterKind.MANAGEMENT, ClusterKind.WORKLOAD

#: All tasks of each workflow, in their order.
_TASKS: Mapping[Workflow, tuple[Task, ...]] = {
    Workflow(_MANAGEMENT, Operation.CREATE): (
        VALIDATE,
        CREATE_BOOTSTRAP,
        INSTALL_BOOTSTRAP,
        CREATE_MANAGEMENT,
        _on(Key.MANAGEMENT, NETWORKING),
        INSTALL_MANAGEMENT,
        PIVOT_TO_MANAGEMENT,
        CONFIGURATION,
        DELETE_BOOTSTRAP,
    ),
    Workflow(_MANAGEMENT, Operation.UPGRADE): (
        _finding(Key.MANAGEMENT),
        BACK_UP,
        PAUSE_GITOPS,
        PAUSE_CLUSTERS,
        UPGRADE_MANAGEMENT,
        _on(Key.MANAGEMENT, UPGRADE_NETWORKING),
        INSTALL_MANAGEMENT,
        _for_upgrade(CREATE_BOOTSTRAP),
        _for_upgrade(INSTALL_BOOTSTRAP),
        _for_upgrade(PIVOT_TO_BOOTSTRAP),
        UPGRADE_CLUSTER,
        _for_upgrade(PIVOT_TO_MANAGEMENT),
        _for_upgrade(DELETE_BOOTSTRAP),
        WRITE_CONFIGURATION,
        RESUME_CLUSTERS,
        RESUME_GITOPS,
        DELETE_BACKUP,
    ),
    Workflow(_MANAGEMENT, Operation.UPGRADE_COMPONENTS): (
        _finding(Key.MANAGEMENT),
        PAUSE_GITOPS,
        UPGRADE_MANAGEMENT,
        INSTALL_MANAGEMENT,
        RESUME_GITOPS,
    ),
    Workflow(_MANAGEMENT, Operation.DELETE): (
        _finding(Key.MANAGEMENT),
        CREATE_BOOTSTRAP,
        INSTALL_BOOTSTRAP,
        PIVOT_TO_BOOTSTRAP,
        DELETE_MANAGEMENT,
        DELETE_BOOTSTRAP,
    ),
    Workflow(_WORKLOAD, Operation.CREATE): (
        _finding(Key.MANAGEMENT),
        CREATE_WORKLOAD,
        _on(Key.WORKLOAD, NETWORKING),
        INSTALL_WORKLOAD,
    ),
    Workflow(_WORKLOAD, Operation.UPGRADE): (
        _finding(Key.MANAGEMENT, Key.WORKLOAD),
        _on(Key.WORKLOAD, UPGRADE_NETWORKING),
        UPGRADE_WORKLOAD,
        UPGRADE_CLUSTER,
        WRITE_CONFIGURATION,
    ),
    Workflow(_WORKLOAD, Operation.DELETE): (
        _finding(Key.MANAGEMENT, Key.WORKLOAD),
        DELETE_WORKLOAD,
    ),
}


def tasks_of(workflow: Workflow, capabilities: frozenset[Capability]) -> tuple[Task, ...]:
    """Return the tasks of a workflow for a provider with these capabilities, in their order."""
    return tuple(task for task in _TASKS[workflow] if task.capability is None or task.capability in capabilities)


def task_ids(kind: ClusterKind, capabilities: frozenset[Capability]) -> tuple[str, ...]:
    """Return the ids of the tasks of all workflows of a cluster: what the repository's hooks may be bound to."""
    tasks = (task.id for each in WORKFLOWS if each.kind is kind for task in tasks_of(each, capabilities))
    return tuple(dict.fromkeys(tasks))

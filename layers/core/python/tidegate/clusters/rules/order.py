"""What the runner does for one task or hook of a workflow, and what came of it. Both are stored in the bucket."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import CurrentCluster, DeclaredCluster
from tidegate.plans.rules.plan import Artifact


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """One task of a workflow, or one hook at it.

    ``hook`` is the hook's name, empty for the task itself, and ``registrar`` whose it is: ``plan``, the reviewed plan,
    has what it does. ``management`` is what is known of its management cluster. ``values`` are the values of the
    context that it needs, by key (clusters/rules/context.py): references, never secrets. ``fence`` is the number of the
    lock under which it runs: a provider gives it to what it changes.
    """

    cluster: DeclaredCluster
    operation: Operation
    task: str
    fence: int
    plan: Artifact
    hook: str = ""
    registrar: str = ""
    current: CurrentCluster | None = None
    management: CurrentCluster | None = None
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task or hook has produced: values of the context by key. ``found`` tells that its effect was there before.

    ``warnings`` are sentences for people.
    """

    values: tuple[tuple[str, str], ...] = ()
    found: bool = False
    warnings: tuple[str, ...] = field(default=())


def order_key(job: str) -> str:
    """Return where a task's order lies in the artifact bucket."""
    return f"cluster-tasks/{job}/order.json"


def result_key(job: str) -> str:
    """Return where a task's result lies in the artifact bucket."""
    return f"cluster-tasks/{job}/result.json"

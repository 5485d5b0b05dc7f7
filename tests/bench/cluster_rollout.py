"""What it takes to upgrade a thousand clusters in four waves, each cluster a root of its repository.

As in ``rollout.py``, the verbs are the real ones, and all else is played: the upgrade of a cluster takes ten to twenty
minutes, and every ten clusters have a management cluster in common. `python -m tests.bench.cluster_rollout CLUSTERS`
prints it as JSON, which the benchmark `clusters` reads.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from tests.bench.rollout import REPOSITORY, Fleet, tell
from tests.builders import any_plan
from tests.unit.clusters.clusters import a_plan, any_cluster, any_current
from tidegate.clusters.adapters.files import plan_text, result_text
from tidegate.clusters.begin_cluster import begin_cluster
from tidegate.clusters.cluster_tasks import begin_cluster_task, record_cluster_task
from tidegate.clusters.end_cluster import end_cluster
from tidegate.clusters.rules.builtin_registrars import DEFAULT
from tidegate.clusters.rules.order import TaskResult, result_key
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.clusters.rules.record import ClusterRecord
from tidegate.clusters.rules.workflow import Operation, Workflow
from tidegate.deploys.rules.cluster import ClusterKind, DeclaredCluster
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.root_settings import RootSettings
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.messages.clusters import BeginCluster, BeginClusterTask, EndCluster, RecordClusterTask
from tidegate.plans.rules.plan import Artifact, Plan
from tidegate.roots.rules.root import Root

_UPGRADE = Workflow(ClusterKind.WORKLOAD, Operation.UPGRADE)
#: Clusters of one management cluster.
_OF_ONE = 10


class ClusterFleet(Fleet):
    """A change that upgrades many workload clusters."""

    apply_seconds = (600.0, 1200.0)

    def __init__(self, clusters: int) -> None:
        super().__init__(clusters)
        self._plans: dict[str, ClusterPlan] = {}

    def settings(self, root: Root) -> RootSettings:
        """Return those of the cluster, which the store has from here on with its management cluster."""
        hub = f"hub-{len(self._plans) // _OF_ONE}"
        declared = any_cluster(ClusterKind.WORKLOAD, name=root.name, management=hub)
        if len(self._plans) % _OF_ONE == 0:
            self._store(any_cluster(ClusterKind.MANAGEMENT, name=hub), "1.33")
        self._store(declared, "1.32")
        self._plans[root.name] = a_plan(_UPGRADE, *DEFAULT, declared=declared)
        return replace(super().settings(root), run=RunSettings(cluster=declared))

    def _store(self, declared: DeclaredCluster, kubernetes: str) -> None:
        current = any_current(kubernetes=kubernetes)
        record = ClusterRecord(REPOSITORY, declared.name, declared.kind, declared.provider, declared.management)
        self.ports.clusters.save(replace(record, current=current, exists=True))

    def planned(self, root: Root, job: str) -> Plan:
        """Store the workflow's plan, as the plan job does."""
        text = plan_text(self._plans[root.name])
        artifact = Artifact(f"plans/{job}/cluster.json", hashlib.sha256(text).hexdigest())
        self._put(artifact.key, text)
        return any_plan(job=job, file=artifact)

    def _put(self, key: str, text: bytes) -> None:
        self.ports.artifacts.put(key, text)  # type: ignore[attr-defined]  # It is the one in memory.

    def apply(self, each: Deployment) -> None:
        """Run the workflow, from its lock to its end."""
        of = {"deployment": each.id, "execution": each.id}
        plan = self._plans[each.root.name]
        self.timed("begin_cluster", partial(begin_cluster, self.ports, BeginCluster(**of, machine=plan.machine)))
        for place, produces in _places(plan):
            self._run({**of, **place}, produces)
        self.timed("end_cluster", partial(end_cluster, self.ports, EndCluster(**of)))

    def _run(self, at: dict[str, str], produces: tuple[str, ...]) -> None:
        begun: Any = self.timed("begin_cluster_task", partial(begin_cluster_task, self.ports, BeginClusterTask(**at)))
        if begun.next == "run":
            values = tuple((key, f'{{"name": "{key}", "access": "simulated"}}') for key in produces)
            self._put(result_key(begun.job), result_text(TaskResult(values)))
            self.timed("record_cluster_task", partial(record_cluster_task, self.ports, RecordClusterTask(**at)))


def _places(plan: ClusterPlan) -> Iterator[tuple[dict[str, str], tuple[str, ...]]]:
    """Yield the tasks that are due and the hooks in their order, each with what it produces."""
    hooks = [*plan.before]
    for step in plan.steps:
        hooks += step.before
        yield from (
            ({"task": each.task, "hook": each.name, "registrar": each.registrar}, each.produces) for each in hooks
        )
        yield {"task": step.task}, step.produces
        hooks = [*step.after]
    hooks += [*plan.after, *plan.always]
    yield from (({"task": each.task, "hook": each.name, "registrar": each.registrar}, each.produces) for each in hooks)


if __name__ == "__main__":
    tell(ClusterFleet(int(sys.argv[1])).roll_out())

"""Files of cluster workflows in the artifact bucket: plans, what runners are asked to do, and what they did."""

from __future__ import annotations

import hashlib
import json

from tidegate.aws.records import pack, unpack
from tidegate.clusters.rules.execution_refusals import ClusterPlanAltered
from tidegate.clusters.rules.order import TaskOrder, TaskResult, order_key, result_key
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.plans.rules.plan import Artifact
from tidegate.ports import Artifacts


class StoredClusterFiles:
    """The port ``ClusterFiles`` on stored objects."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts

    def plan(self, artifact: Artifact) -> ClusterPlan:
        text = self._artifacts.get(artifact.key)
        if hashlib.sha256(text).hexdigest() != artifact.sha256:
            raise ClusterPlanAltered(artifact.key)
        return read_plan(text)

    def keep_order(self, job: str, order: TaskOrder) -> Artifact:
        text = _text(order)
        self._artifacts.put(order_key(job), text)
        return Artifact(order_key(job), hashlib.sha256(text).hexdigest())

    def result(self, job: str) -> TaskResult:
        return read_result(self._artifacts.get(result_key(job)))


def plan_text(plan: ClusterPlan) -> bytes:
    """Return a plan as it is stored."""
    return _text(plan)


def read_plan(text: bytes) -> ClusterPlan:
    """Return a stored plan."""
    return unpack(ClusterPlan, json.loads(text))


def read_order(text: bytes) -> TaskOrder:
    """Return a stored order."""
    return unpack(TaskOrder, json.loads(text))


def result_text(result: TaskResult) -> bytes:
    """Return a result as it is stored."""
    return _text(result)


def read_result(text: bytes) -> TaskResult:
    """Return a stored result."""
    return unpack(TaskResult, json.loads(text))


def _text(record: ClusterPlan | TaskOrder | TaskResult) -> bytes:
    return json.dumps(pack(record), sort_keys=True).encode()

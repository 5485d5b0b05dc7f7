"""Workflows of clusters: their construction, what they add to their tasks, how soon one is resumed, and a fleet.

The clusters are simulated, each of their tasks takes a second, and all else is as in production. Thousand of them are
upgraded in memory by ``tests/bench/cluster_rollout.py``.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.deploys import history
from bench.fleet import rolled_out, waves
from bench.lines import Line
from bench.queues import until
from soak.clone import Clone
from tidegate.aws.definitions import rendered
from tidegate.clusters.adapters.machines import PARTS
from tidegate.clusters.rules import workflow_tasks
from tidegate.clusters.rules.construct import build
from tidegate.clusters.rules.installed import Installed, InstalledHook
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.registrar import Hook
from tidegate.clusters.rules.rendering import render
from tidegate.clusters.rules.spec import Spec
from tidegate.clusters.rules.task import Task
from tidegate.clusters.rules.workflow import Operation, Workflow, machine_name
from tidegate.deploys.rules.cluster import ClusterKind, DeclaredCluster, HookPoint, ProviderName
from tidegate_local.client import LocalCloud
from tidegate_local.options import PROJECT
from tidegate_local.updates_client import ApiAnswered, ask

REPOSITORY, FLEET = "bench/cluster", "bench/clusters"
#: Seconds of construction, and of rendering; seconds that a workflow adds to each of its tasks.
CONSTRUCTION, ADDED = 0.25, 0.5
#: Time until a resumed workflow does something new ÷ the time until it came there first; events for each upgrade.
RESUMED, EVENTS = 1.0, 600
_CREATE, _UPGRADE = (Workflow(ClusterKind.WORKLOAD, each) for each in (Operation.CREATE, Operation.UPGRADE))
_SIMULATED = PROVIDERS[ProviderName.SIMULATED]
_RUNS = 5
_HOOKS = ((HookPoint.BEFORE, "a"), (HookPoint.AFTER, "b"), (HookPoint.AFTER, "c"))


def run(*, quick: bool) -> Iterator[Line]:
    """Measure construction, one cluster, a small fleet in the local cloud, and a large one in memory."""
    yield from _construction(1 if quick else _RUNS)
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, LocalCloud(clock=False, warm=not quick) as cloud:
        one = _Clusters(cloud, REPOSITORY, Path(directory, "one"))
        yield from _one(one, Path(directory, "may-upgrade"), 0.0 if quick else 1.0)
        yield _many(_Clusters(cloud, FLEET, Path(directory, "many")), {"canary": 1, "rest": 1 if quick else 5})
    yield from rolled_out("cluster_fleet", "tests.bench.cluster_rollout", (20, 40) if quick else (100, 1000))


def _construction(runs: int) -> Iterator[Line]:
    """Construct and render a workflow of 100 tasks with 300 hooks, and one of a tenth."""
    parts = json.loads(rendered(PROJECT / "stepfunctions" / PARTS))
    declared = DeclaredCluster("shop", ClusterKind.WORKLOAD, ProviderName.SIMULATED, "shop/cluster.yaml", "", ())
    of_size = {number: _tasks(number) for number in (100, 10)}
    ways = {
        "built": lambda by: build(Operation.CREATE, declared, Spec("1.33", "", ""), None, _SIMULATED, [by]),
        "rendered": lambda by: render(_CREATE, _SIMULATED, [by], parts),
    }
    for name, way in ways.items():
        seconds = {}
        for number, tasks in of_size.items():
            hooks = [
                InstalledHook(Hook(f"{kind}-{at}", "Does nothing.", ("true",)), point, each.id)
                for at, each in enumerate(tasks)
                for point, kind in _HOOKS
            ]
            with patch.dict(workflow_tasks._TASKS, {_CREATE: tasks}):  # noqa: SLF001  # No workflow has as many.
                taken = [_cpu(partial(way, Installed(hooks))) for _ in range(runs)]
            seconds[number] = statistics.median(taken)
        more = {"baseline": "ten times that of 10 tasks with 30 hooks", "tasks": 100, "hooks": 300}
        yield Line(f"cluster_workflow_{name}", seconds[100], 10 * seconds[10], CONSTRUCTION, "median", more=more)


def _tasks(number: int) -> tuple[Task, ...]:
    """Return the tasks of a creation, and so many more of one of them that they are this many."""
    own = workflow_tasks.tasks_of(_CREATE, _SIMULATED.capabilities)
    last = own[-1]
    more = (replace(last, id=f"{last.id}-{at}", title=f"{last.title} {at}") for at in range(number - len(own)))
    return (*own, *more)


def _cpu(call: Any) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


class _Clusters:
    """A repository of simulated workload clusters in a local cloud."""

    def __init__(self, cloud: LocalCloud, repository: str, place: Path) -> None:
        self.cloud, self._repository = cloud, repository
        scheme, _, rest = str(cloud.info["forge_url"]).partition("://")
        self._clone = Clone(place, f"{scheme}://maintainer:maintainer@{rest}/{repository}.git")
        self._clone.begin()

    def push(self, files: Mapping[str, str]) -> float:
        """Push files; return when, in seconds since 1970."""
        self._clone.commit(files, "Change clusters")
        at = time.time()
        self._clone.push()
        return at

    def resume(self, name: str) -> float:
        """Resume a failed workflow; return when."""
        at = time.time()
        self._ask("POST", f"/{name}/resume", {})
        return at

    def ended(self, name: str, version: str, state: str = "ready") -> dict[str, Any]:
        """Return a cluster once it has this version and state. Raise AssertionError after half an hour."""
        return until(partial(self._found, name, version, state), f"{name} {state} with {version}")

    def is_recorded(self, deployment: str) -> bool:
        """Tell whether a deployment has failed, and its queue is ready for the next one."""
        return bool(ask("GET", f"{self._api}/deployments/{deployment}", "maintainer")["state"] == "apply_failed")

    def _found(self, name: str, version: str, state: str) -> dict[str, Any]:
        with suppress(ApiAnswered):
            found = self._ask("GET", f"/{name}")
            if (found["state"], found["kubernetes"]) == (state, version):
                return found
        return {}

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return ask(method, f"{self._api}/clusters/{self._repository}{path}", "maintainer", body)

    @property
    def _api(self) -> str:
        return f"{self.cloud.info['api_url']}/api/v1"


def _one(clusters: _Clusters, may: Path, seconds: float) -> Iterator[Line]:
    """Create a cluster, upgrade it until it fails in the middle, as ``may`` is not there, and resume it."""
    names = [
        each.id
        for each in (*workflow_tasks.tasks_of(_CREATE, frozenset()), *workflow_tasks.tasks_of(_UPGRADE, frozenset()))
    ]
    delay = dict.fromkeys(names, seconds)
    hook = f"hooks: [{{name: may, before: upgrade-cluster, run: [test, -e, {may}]}}]"
    clusters.push({"tidegate.yaml": _file(["shop"], hook), "cni.yaml": _CNI, "shop/cluster.yaml": _spec("1.33", delay)})
    clusters.ended("shop", "1.33")
    yield _added(clusters.cloud)
    began = clusters.push({"shop/cluster.yaml": _spec("1.34", delay)})
    failed = clusters.ended("shop", "1.33", "failed")["workflow"]
    may.touch()
    until(partial(clusters.is_recorded, failed["deployment"]), "the failure of the deployment")
    resumed_at = clusters.resume("shop")
    resumed = clusters.ended("shop", "1.34")["workflow"]
    again, at_first = _reached(resumed) - resumed_at, _reached(failed) - began
    more = {"baseline": "from the push of the upgrade until it came there first"}
    yield Line("cluster_resumed", again, at_first, target=RESUMED, more=more)


def _added(cloud: LocalCloud) -> Line:
    """Return what a workflow takes for each of its tasks, against the runners' time."""
    arn = cloud.info["state_machines"][_machine(cloud, _CREATE)]
    (execution,) = cloud.client("stepfunctions").list_executions(stateMachineArn=arn)["executions"]
    began, ended = (execution[name].timestamp() for name in ("startDate", "stopDate"))
    runners = [each for each in cloud.read("tasks") if began <= each["createdAt"] <= ended]
    count, own = len(runners), sum(each["stoppedAt"] - each["createdAt"] for each in runners)
    more = {"baseline": "the runner of a task, including process start and end", "tasks": count}
    return Line("cluster_task", (ended - began) / count, own / count, ADDED, "difference", more=more)


def _machine(cloud: LocalCloud, workflow: Workflow) -> str:
    """Return what the local cloud calls a workflow's state machine."""
    name = machine_name(workflow, ProviderName.SIMULATED)
    return next(str(known) for known, arn in cloud.info["state_machines"].items() if arn.endswith(name))


def _reached(workflow: Mapping[str, Any]) -> float:
    """Return when the hook in the middle began."""
    hooks = (hook for each in workflow["tasks"] for hook in each["before"])
    begun = next(hook["begun_at"] for hook in hooks if hook["hook"] == "may")
    return datetime.fromisoformat(begun).timestamp()


def _many(clusters: _Clusters, shares: Mapping[str, int]) -> Line:
    """Upgrade a few clusters in waves, and return its executions and their events."""
    names = [f"{stack}-{at}" for stack, share in shares.items() for at in range(share)]
    specs = {version: {f"{name}/cluster.yaml": _spec(version, {}) for name in names} for version in ("1.33", "1.34")}
    file = _file(names, "", f"stacks:\n  names:\n{waves(shares)}")
    clusters.push({"tidegate.yaml": file, "cni.yaml": _CNI, **specs["1.33"]})
    for name in names:
        clusters.ended(name, "1.33")
    began = clusters.push(specs["1.34"])
    for name in names:
        clusters.ended(name, "1.34")
    events, executions = Counter[str](), 0
    for machine in ("deploy", "terraform", "cluster_task", "workflow"):
        known = _machine(clusters.cloud, _UPGRADE) if machine == "workflow" else machine
        found = [each for _, each in history(clusters.cloud, known) if each["timestamp"].timestamp() >= began]
        events[machine], executions = len(found), executions + sum(each["id"] == 1 for each in found)
    by_machine = {machine: round(count / len(names), 1) for machine, count in events.items()}
    more = {"baseline": "executions for each", "clusters": len(names), "events_by_machine": by_machine}
    return Line(
        "cluster_fleet_history_events",
        events.total() / len(names),
        executions / len(names),
        target=EVENTS,
        compared="median",
        unit="events",
        more=more,
    )


_CNI = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cni}\n"


def _file(names: list[str], more: str, stacks: str = "") -> str:
    each = "  - {{name: {0}, kind: workload, provider: simulated, spec: {0}/cluster.yaml, components: [{1}], {2}}}\n"
    component = "{name: cni, role: networking, manifests: cni.yaml, version: 1.0.0}"
    clusters = "".join(each.format(name, component, more) for name in names)
    return f"version: 1\nplan_review: never\nroots: []\n{stacks}clusters:\n{clusters}"


def _spec(version: str, delay: Mapping[str, float]) -> str:
    return f'kubernetes: "{version}"\nprovider: {json.dumps({"delay": delay})}\n'

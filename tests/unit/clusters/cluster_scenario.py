"""The upgrade of a management cluster as its state machine calls it, on ports in memory."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

from tests.builders import amended, any_job, any_plan, any_root, deployment_in
from tests.fakes.ports import memory_ports, port
from tidegate.clusters.adapters.files import plan_text, read_order, result_text
from tidegate.clusters.begin_cluster import begin_cluster
from tidegate.clusters.cluster_tasks import begin_cluster_task, fail_cluster_task, record_cluster_task
from tidegate.clusters.end_cluster import end_cluster, end_failed_cluster, fail_cluster
from tidegate.clusters.rules.order import TaskOrder, TaskResult, result_key
from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook, Step, VersionChange
from tidegate.clusters.rules.record import ClusterRecord
from tidegate.clusters.rules.workflow import Operation, Workflow
from tidegate.deploys.rules.cluster import (
    ClusterKind,
    ComponentForm,
    ComponentRole,
    CurrentCluster,
    DeclaredCluster,
    DeclaredComponent,
    HookFailure,
    HookPoint,
    ProviderName,
)
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.messages.clusters import (
    BeginCluster,
    BeginClusterTask,
    ClusterFailed,
    ClusterTaskBegun,
    ClusterTaskFailed,
    EndCluster,
    EndFailedCluster,
    FailCluster,
    FailClusterTask,
    FailedClusterEnded,
    RecordClusterTask,
)
from tidegate.plans.rules.plan import Artifact

REPOSITORY, FLEET = "acme/infra", "fleet"
FUNCTION = "arn:aws:lambda:eu-central-1:123456789012:function:check"
COMPONENTS = (DeclaredComponent("cni", ComponentRole.NETWORKING, ComponentForm.MANIFESTS, "cni", "1.2"),)
MANAGEMENT = DeclaredCluster(FLEET, ClusterKind.MANAGEMENT, ProviderName.SIMULATED, "fleet.yaml", "", COMPONENTS)
CURRENT = CurrentCluster("1.31", "old", ProviderName.SIMULATED, "1")
CHECK = PlannedHook(
    "check", "repository", HookPoint.AFTER, "upgrade-cluster", HookFailure.WARN, function="check", seconds=60
)
AUTHORITY = PlannedHook("authority", "iam", HookPoint.AFTER, "pause-gitops-agent", produces=("iam-authority",))


def step(task: str, needs: tuple[str, ...] = (), produces: tuple[str, ...] = (), **fields: Any) -> Step:
    return Step(task, task, needs, produces, **{"seconds": 600, **fields})


STEPS = (
    step("validate", produces=("management-cluster",), checkpoint=False),
    step("back-up", ("management-cluster",), ("backup",), acquires="backup"),
    step("pause-gitops-agent", produces=("paused",), acquires="pause", after=(AUTHORITY,)),
    step("wait", ("paused",)),
    step("install-networking", due=False, why="It has no components."),
    step("upgrade-cluster", ("management-cluster",), after=(CHECK,)),
    step("resume-gitops-agent", ("paused",), releases="pause"),
    step("delete-backup", ("backup",), releases="backup"),
)
TELL = PlannedHook("tell", "installation", HookPoint.ON_ERROR, command=("tell",), seconds=120)
TIDY = PlannedHook("tidy", "repository", HookPoint.ALWAYS, command=("tidy",))
PLAN = ClusterPlan(
    cluster=MANAGEMENT,
    workflow=Workflow(ClusterKind.MANAGEMENT, Operation.UPGRADE),
    provider_version="1",
    spec_hash="new",
    definition="steps",
    versions=(VersionChange("kubernetes", "1.31", "1.32"),),
    steps=STEPS,
    on_error=(TELL,),
    always=(TIDY,),
    releases=("resume-gitops-agent",),
    machine="tasks and hooks",
    cluster_hash="cluster",
)
ORDER_OF_TASKS = ("validate", "back-up", "pause-gitops-agent", "wait", "upgrade-cluster", "resume-gitops-agent")


@dataclass
class ClusterScenario:
    """One cluster's workflows. Each deployment has an execution of its own name, as the Terraform machine starts it."""

    plan: ClusterPlan = PLAN
    current: CurrentCluster | None = CURRENT
    ports: Any = field(default_factory=lambda: memory_ports({"TIDEGATE_CLUSTER_FUNCTIONS": FUNCTION}))
    repository: str = REPOSITORY

    clusters = port("clusters")
    jobs = port("jobs")

    def __post_init__(self) -> None:
        if self.current is not None:
            self.known(self.plan.cluster, self.current)

    def known(self, cluster: DeclaredCluster, current: CurrentCluster | None, **fields: Any) -> ClusterRecord:
        record = ClusterRecord(
            self.repository,
            cluster.name,
            cluster.kind,
            cluster.provider,
            cluster.management,
            current=current,
            exists=True,
        )
        (saved,) = self.clusters.save(replace(record, **fields))
        return saved

    def deployed(self, number: int = 1, plan: ClusterPlan | None = None) -> str:
        """Return a deployment of the cluster that is being applied, with its reviewed plan."""
        plan = plan or self.plan
        text = plan_text(plan)
        stored = Artifact(f"plans/{number}-plan-1/plan.tfplan", hashlib.sha256(text).hexdigest())
        self.ports.artifacts.put(stored.key, text)
        root = any_root(name=plan.cluster.name)
        deployment = deployment_in(
            State.APPLYING, number, repository=self.repository, root=root, run=RunSettings(cluster=plan.cluster)
        )
        deployment = amended(deployment, id=f"d{number}", plan=any_plan(file=stored))
        apply = job_id(deployment.id, JobKind.APPLY, 1)
        deployment = amended(deployment, apply_job=apply)
        assert self.ports.deployments.add(deployment)
        job = any_job(JobKind.APPLY, id=apply, deployment=deployment.id, root=root, plan_file=stored)
        self.jobs.create(replace(job, repository=self.repository, run=deployment.settings.run))
        return deployment.id

    @property
    def record(self) -> ClusterRecord:
        return self.clusters.cluster(self.repository, self.plan.cluster.name)

    def begin(self, deployment: str = "", machine: str = "", execution: str = "") -> int:
        deployment = deployment or self.deployed()
        given = {"deployment": deployment, "execution": execution or deployment, "machine": machine}
        return begin_cluster(self.ports, BeginCluster(**given)).fence

    def start(self, task: str = "", deployment: str = "d1", **fields: Any) -> ClusterTaskBegun:
        given = {"deployment": deployment, "execution": deployment, "task": task, **fields}
        return begin_cluster_task(self.ports, BeginClusterTask(**given))

    def order(self, begun: ClusterTaskBegun) -> TaskOrder:
        return read_order(self.ports.artifacts.get(self.jobs.get(begun.job).task.key))

    def finish(self, task: str = "", deployment: str = "d1", **fields: Any) -> None:
        given = {"deployment": deployment, "execution": deployment, "task": task, **fields}
        record_cluster_task(self.ports, RecordClusterTask(**given))

    def result(self, job: str, *values: tuple[str, str], **fields: Any) -> None:
        self.ports.artifacts.put(result_key(job), result_text(TaskResult(values, **fields)))

    def do(self, task: str, deployment: str = "d1", **fields: Any) -> ClusterTaskBegun:
        """Begin a task and, if it runs, let its runner produce what it declares."""
        begun = self.start(task, deployment, **fields)
        if begun.next == "run":
            produces = next((each.produces for each in self.plan.steps if each.task == task), ())
            produces = AUTHORITY.produces if fields.get("hook") == AUTHORITY.name else () if fields else produces
            self.result(begun.job, *((key, f"{key} of {deployment}") for key in produces))
            self.finish(task, deployment, **fields)
        return begun

    def fail_task(
        self, task: str = "", deployment: str = "d1", error: str = "Oops", **fields: Any
    ) -> ClusterTaskFailed:
        given = {"deployment": deployment, "execution": deployment, "task": task, "error": error, **fields}
        return fail_cluster_task(self.ports, FailClusterTask(**given))

    def fail(self, error: str = "Oops", cause: str = "", deployment: str = "d1", execution: str = "") -> ClusterFailed:
        given = {"deployment": deployment, "execution": execution or deployment, "error": error, "cause": cause}
        return fail_cluster(self.ports, FailCluster(**given))

    def end(self, deployment: str = "d1") -> None:
        end_cluster(self.ports, EndCluster(deployment=deployment, execution=deployment))

    def end_failed(self, deployment: str = "d1", execution: str = "") -> FailedClusterEnded:
        given = {
            "deployment": deployment,
            "execution": execution or deployment,
            "error": "Late",
            "cause": "It is late.",
        }
        return end_failed_cluster(self.ports, EndFailedCluster(**given))

    def failed_at(self, task: str, deployment: str = "d1") -> None:
        """Let a workflow fail at a task, and give back what is not kept."""
        self.begin(self.deployed(int(deployment[1:])))
        for each in ORDER_OF_TASKS[: ORDER_OF_TASKS.index(task)]:
            self.do(each, deployment)
        self.start(task, deployment)
        self.fail_task(task, deployment)
        for each in self.fail(deployment=deployment).releases:
            self.do(each, deployment)
        self.end_failed(deployment)

"""What the HTTP API takes and says of clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import Field

from tidegate.clusters.get_cluster import ClusterView
from tidegate.clusters.rules.overview import ClusterState, Part, PartState, WorkflowOverview
from tidegate.clusters.rules.record import ClusterRun
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import ClusterKind, ProviderName
from tidegate.deploys.rules.locking import LONGEST_REASON
from tidegate.web.models import Shown, Timestamp
from tidegate.web.shapes import Shapes
from tidegate.web.update_models import Given


class ReleaseGiven(Given):
    """Why everything is given back that a failed workflow holds."""

    reason: str = Field(
        min_length=1, max_length=LONGEST_REASON, pattern=r"\S", description="The reason, which the audit message has"
    )


class ComponentModel(Shown):
    """A component of a cluster."""

    name: str
    version: str


class VersionModel(Shown):
    """A version that the workflow changes; empty: there is none."""

    name: str
    before: str
    after: str


class HeldModel(Shown):
    """What a workflow has taken, and has not given back."""

    name: str
    task: str = Field(description="The task that took it")
    at: Timestamp


class ErrorModel(Shown):
    """The error that a workflow failed with."""

    error: str = Field(description="Its name, as state machines know it")
    cause: str
    at: Timestamp


class PartModel(Shown):
    """A task or a hook of a workflow."""

    task: str = Field(description="The task's id, or that of the hook's task; empty for a hook of the whole workflow")
    hook: str = Field(description="The hook's name; empty for a task")
    registrar: str = Field(description="Who registered the hook; `repository` for one of tidegate.yaml")
    title: str
    state: PartState
    reason: str = Field(description="Why it is in this state, if there is something to say")
    begun_at: Timestamp | None
    ended_at: Timestamp | None
    attempt: int | None = Field(description="The number of its jobs so far; null before the first")
    job: str | None = Field(description="Its newest job, whose log is at `/jobs/JOB`; null without one")
    apply: str | None = Field(
        description="The job that applied the root module before it, whose log is at `/jobs/JOB`; null without one"
    )


class TaskModel(Shown):
    """A task with its hooks."""

    task: PartModel
    before: list[PartModel] = Field(description="Hooks before it")
    after: list[PartModel] = Field(description="Hooks after it")


class WorkflowModel(Shown):
    """The workflow that runs, or ran last."""

    name: str = Field(examples=["management-upgrade"])
    operation: Operation
    deployment: str
    execution: str
    begun_at: Timestamp
    ended_at: Timestamp | None
    given_up: bool = Field(description="Somebody had everything given back that it held")
    error: ErrorModel | None = Field(description="The first error; later ones are those of diagnostics and releases")
    warnings: list[str]
    versions: list[VersionModel]
    start: list[PartModel] = Field(description="Hooks before the first task")
    tasks: list[TaskModel] = Field(description="In their order. Empty if the plan has expired: `more` has what ran")
    end: list[PartModel] = Field(description="Hooks after the last task")
    on_error: list[PartModel] = Field(description="Hooks of a failed workflow")
    always: list[PartModel] = Field(description="Hooks that run at each end")
    more: list[PartModel] = Field(description="What ran besides, such as diagnostics")


class ContextModel(Shown):
    """A value of the workflow's context, for people."""

    key: str
    value: str | None = Field(description="Null for what hooks have added: nobody knows whether it is secret")


class ClusterLockModel(Shown):
    """Who works on a cluster. Each holder has a higher fence than the one before."""

    deployment: str
    execution: str
    fence: int
    at: Timestamp


class ClusterBrief(Shown):
    """A cluster that a workflow has ever worked on."""

    repository: str
    name: str = Field(description="Its name, which is its root's, too")
    kind: ClusterKind
    provider: ProviderName
    management: str | None = Field(description="The management cluster of a workload cluster, if it names one")
    state: ClusterState
    kubernetes: str | None = Field(description="The current version, null if there is none")
    workloads: list[str] = Field(description="The workload clusters of a management cluster")
    deployment: str | None = Field(description="The deployment whose workflow runs, or ran last")
    url: str = Field(description="The URL of its page")


class ClusterDetails(ClusterBrief):
    """A cluster, and the workflow that runs or ran last."""

    provider_version: str | None
    components: list[ComponentModel]
    lock: ClusterLockModel | None
    held: list[HeldModel] = Field(description="In the order of acquisition")
    workflow: WorkflowModel | None
    context: list[ContextModel]
    resumable: bool = Field(description="Whether a failed workflow may be resumed")
    releasable: bool = Field(
        description="Whether there is something to give back, which needs that no execution works on it any more"
    )


class ClusterList(Shown):
    """The clusters of a repository."""

    repository: str
    clusters: list[ClusterBrief] = Field(description="Management clusters first, by name")


class ClusterDone(Shown):
    """What was done."""

    message: str


def cluster_list(repository: str, views: Iterable[ClusterView], shapes: Shapes) -> ClusterList:
    """Return clusters for programs."""
    return ClusterList(repository=repository, clusters=[ClusterBrief(**_brief(each, shapes)) for each in views])


def cluster_details(view: ClusterView, shapes: Shapes) -> ClusterDetails:
    """Return a cluster for programs."""
    record, current = view.record, view.record.current
    lock = record.lock
    return ClusterDetails(
        **_brief(view, shapes),
        provider_version=current.provider_version if current else None,
        components=[ComponentModel(name=name, version=version) for name, version in current.components]
        if current
        else [],
        lock=ClusterLockModel(deployment=lock.deployment, execution=lock.execution, fence=lock.fence, at=lock.at)
        if lock
        else None,
        held=[HeldModel(name=each.name, task=each.task, at=each.at) for each in record.held],
        workflow=_workflow(record.run, view) if record.run else None,
        context=[ContextModel(key=each.key, value=each.text) for each in view.context],
        resumable=view.resume.done,
        releasable=view.release.done,
    )


def _brief(view: ClusterView, shapes: Shapes) -> dict[str, Any]:
    record = view.record
    return {
        "repository": record.repository,
        "name": record.name,
        "kind": record.kind,
        "provider": record.provider,
        "management": record.management or None,
        "state": view.state,
        "kubernetes": (record.current.kubernetes or None) if record.current else None,
        "workloads": list(view.workloads),
        "deployment": record.run.deployment if record.run else None,
        "url": shapes.cluster_url(record.repository, record.name),
    }


def _workflow(run: ClusterRun, view: ClusterView) -> WorkflowModel:
    flow, error = view.workflow or WorkflowOverview(), run.first_error
    return WorkflowModel(
        name=run.workflow,
        operation=run.identity.operation,
        deployment=run.deployment,
        execution=run.execution,
        begun_at=run.begun_at,
        ended_at=run.ended_at,
        given_up=run.gives_up,
        error=ErrorModel(error=error.error, cause=error.cause, at=error.at) if error else None,
        warnings=list(run.warnings),
        versions=[
            VersionModel(name=each.name, before=each.before, after=each.after)
            for each in (view.plan.versions if view.plan else ())
        ],
        start=_parts(flow.start),
        tasks=[
            TaskModel(task=_part(each.task), before=_parts(each.before), after=_parts(each.after))
            for each in flow.tasks
        ],
        end=_parts(flow.end),
        on_error=_parts(flow.on_error),
        always=_parts(flow.always),
        more=_parts(flow.more),
    )


def _parts(parts: Iterable[Part]) -> list[PartModel]:
    return [_part(each) for each in parts]


def _part(part: Part) -> PartModel:
    phase = part.phase
    return PartModel(
        task=part.place.task,
        hook=part.place.hook,
        registrar=part.place.registrar,
        title=part.title,
        state=part.state,
        reason=part.reason,
        begun_at=phase.begun_at if phase else None,
        ended_at=phase.ended_at if phase else None,
        attempt=phase.attempt if phase else None,
        job=part.job or None,
        apply=part.apply or None,
    )

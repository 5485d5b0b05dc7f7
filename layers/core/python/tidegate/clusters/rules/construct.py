"""The construction of a workflow: everything is decided, and every mistake found, before anything runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from tidegate.clusters.rules.context import Key
from tidegate.clusters.rules.facts import Situation, due
from tidegate.clusters.rules.kubernetes_version import refuse_newer, refuse_skew
from tidegate.clusters.rules.plan import KUBERNETES, ClusterPlan, PlannedHook, Step, VersionChange
from tidegate.clusters.rules.provider import ProviderFacts, bootstrap_place, refuse_unsaid
from tidegate.clusters.rules.refusals import (
    DuplicateId,
    DuplicateKey,
    KeyNotProduced,
    NeverReleased,
    NothingToChange,
    PlanTooLarge,
    ProviderChanged,
    StepTooLong,
    WorkloadsRemain,
    WrongWorkflow,
)
from tidegate.clusters.rules.registrar import Binder, Bound, Declared, Registrar
from tidegate.clusters.rules.spec import Spec
from tidegate.clusters.rules.task import Task
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.clusters.rules.workflow_tasks import task_ids, tasks_of
from tidegate.deploys.rules.cluster import ClusterKind, CurrentCluster, DeclaredCluster, DeclaredHook, HookPoint
from tidegate.plans.rules.plan import Artifact

#: Bytes of the plan in an execution's input: Step Functions takes 256 KB, and the deployment is beside it.
MOST_BYTES = 252 * 1024
#: Hooks of a workflow: each costs an execution some 30 events, of 25,000 that its history may have.
MOST_HOOKS = 500
#: Seconds that all components of a task may take: it is part of the time limit of every task with components.
MOST_COMPONENT_SECONDS = 4 * 3600


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done to a cluster, None for nothing, with the reason as a sentence."""

    operation: Operation | None
    reason: str


def operation_of(
    declared: DeclaredCluster, spec: Spec, current: CurrentCluster | None, *, destroy: bool, begun: bool = False
) -> Decision:
    """Decide what is to be done. ``begun`` tells that a workflow of this cluster has failed before it was complete."""
    if destroy:
        return _deletion(current, begun=begun)
    if current is None:
        return Decision(Operation.CREATE, "The cluster does not exist yet.")
    if current.spec_hash == spec.hash and begun:
        return Decision(Operation.UPGRADE, "A workflow has failed on the way to something else.")
    if current.spec_hash == spec.hash:
        return Decision(None, "The cluster is as its file and its declaration say.")
    only_components = (current.kubernetes, current.cluster_hash) == (spec.kubernetes, spec.cluster_hash)
    if only_components and declared.kind is ClusterKind.MANAGEMENT:
        return Decision(Operation.UPGRADE_COMPONENTS, "Only components have changed.")
    return Decision(
        Operation.UPGRADE, "Only components have changed." if only_components else "The cluster has changed."
    )


def _deletion(current: CurrentCluster | None, *, begun: bool) -> Decision:
    if current is None and not begun:
        return Decision(None, "It is to be destroyed, and there is no such cluster.")
    return Decision(Operation.DELETE, "It is to be destroyed.")


def build(
    operation: Operation,
    declared: DeclaredCluster,
    spec: Spec,
    current: CurrentCluster | None,
    provider: ProviderFacts,
    registrars: Sequence[Registrar],
    *,
    management: str = "",
    terraform: Artifact | None = None,
    unchanged: bool = False,
) -> ClusterPlan:
    """Return the plan of a workflow. Raise ClusterRefused, of which each mistake has a class.

    ``management`` is the version of Kubernetes that a workload cluster's management cluster has when this plan is
    carried out, empty if there is none; ``terraform`` the plan of the root module, if the provider has one, and
    ``unchanged`` tells that it changes nothing. A creation that is resumed and a deletion may have no current cluster.
    """
    workflow = Workflow(declared.kind, operation)
    if workflow not in WORKFLOWS:
        raise WrongWorkflow(declared.kind, operation)
    _refuse_operation(operation, declared, current)
    if operation is not Operation.DELETE:
        _refuse_versions(provider, declared, spec, current, management)
    place = bootstrap_place(provider, spec)
    if declared.kind is ClusterKind.MANAGEMENT:
        refuse_unsaid(provider, spec, place)
    situation = Situation(declared, spec, current, place)
    tasks = tasks_of(workflow, provider.capabilities)
    installed = bound_hooks(workflow, tasks, registrars)
    hooks = _in_order(installed, _declared_hooks(declared.hooks, workflow, tasks, provider))
    steps = tuple(_step(task, situation, tasks, hooks) for task in tasks)
    running = [task for task, step in zip(tasks, steps, strict=True) if step.due]
    check(running, steps, hooks)
    plan = ClusterPlan(
        cluster=declared,
        workflow=workflow,
        provider_version=provider.version,
        spec_hash=spec.hash,
        definition=_definition(provider, steps),
        versions=_versions(declared, spec, current, provider, operation),
        steps=steps,
        before=_at(hooks, HookPoint.BEFORE),
        after=_at(hooks, HookPoint.AFTER),
        on_error=_at(hooks, HookPoint.ON_ERROR),
        always=_at(hooks, HookPoint.ALWAYS),
        releases=tuple(released(running)),
        terraform=terraform,
        unchanged=unchanged,
        machine=machine_hash(workflow, provider, registrars),
        cluster_hash=spec.cluster_hash,
    )
    _refuse_large(plan, len(hooks))
    return plan


def _refuse_operation(operation: Operation, declared: DeclaredCluster, current: CurrentCluster | None) -> None:
    if operation is Operation.CREATE and current:
        raise NothingToChange(declared.name, operation, "it exists")
    if operation in {Operation.UPGRADE, Operation.UPGRADE_COMPONENTS} and not current:
        raise NothingToChange(declared.name, operation, "it does not exist")
    if current and current.provider is not declared.provider:
        raise ProviderChanged(declared.name, current.provider, declared.provider)
    if operation is Operation.DELETE and current and current.workloads:
        raise WorkloadsRemain(declared.name, current.workloads)


def _refuse_versions(
    provider: ProviderFacts, declared: DeclaredCluster, spec: Spec, current: CurrentCluster | None, management: str
) -> None:
    if current and provider.upgrades:
        refuse_skew(current.kubernetes, spec.kubernetes)
    if declared.management:
        refuse_newer(spec.kubernetes, declared.management, management)


def bound_hooks(workflow: Workflow, tasks: Sequence[Task], registrars: Iterable[Registrar]) -> tuple[Bound, ...]:
    """Return the hooks of registrars in their order. Raise ClusterRefused for a mistake."""
    ids = tuple(task.id for task in tasks)
    bound: list[Bound] = []
    names = set()
    for registrar in registrars:
        if registrar.name in names:
            raise DuplicateId("registrars", registrar.name)
        names.add(registrar.name)
        binder = Binder(workflow, ids, registrar.name)
        registrar.bind(binder)
        bound += binder.bound
    return tuple(bound)


def _declared_hooks(
    hooks: Sequence[DeclaredHook], workflow: Workflow, tasks: Sequence[Task], provider: ProviderFacts
) -> tuple[Bound, ...]:
    return bound_hooks(workflow, tasks, [Declared(hooks, task_ids(workflow.kind, provider.capabilities))])


def _in_order(installed: tuple[Bound, ...], declared: tuple[Bound, ...]) -> tuple[Bound, ...]:
    """Return all hooks in the order in which those of one place run: the repository's are the outer ones."""
    outer = [each for each in declared if each.point is HookPoint.BEFORE]
    return (*outer, *installed, *(each for each in declared if each.point is not HookPoint.BEFORE))


def _at(hooks: Iterable[Bound], point: HookPoint, task: str = "") -> tuple[PlannedHook, ...]:
    return tuple(each.planned for each in hooks if (each.point, each.task) == (point, task))


def _definition(provider: ProviderFacts, steps: Iterable[Step]) -> str:
    """Return the hash of the steps that checkpoints hold for.

    Whether a task is due may differ when a workflow is resumed. Hooks have checkpoints of their own, and one that is
    mended must not make its workflow another one.
    """
    plain = (replace(step, due=True, why="", needs=(), before=(), after=()) for step in steps)
    return _digest(provider.name, [asdict(step) for step in plain])


def _step(task: Task, situation: Situation, tasks: Sequence[Task], hooks: Iterable[Bound]) -> Step:
    whether = due(task, situation)
    return Step(
        task=task.id,
        title=task.title,
        needs=needs_of(task, tasks, situation),
        produces=_produces(task, situation.declared),
        seconds=task.seconds + _seconds_of_components(task, situation.declared),
        due=whether.due,
        why=whether.why,
        before=_at(hooks, HookPoint.BEFORE, task.id),
        after=_at(hooks, HookPoint.AFTER, task.id),
        acquires=task.acquires or "",
        releases=task.releases or "",
        checkpoint=task.checkpoint,
    )


def needs_of(task: Task, tasks: Iterable[Task], situation: Situation) -> tuple[str, ...]:
    """Return what a task needs: of what it ``uses``, that which a task of this workflow produces and that is due."""
    there = {key for each in tasks if due(each, situation).due for key in _produces(each, situation.declared)}
    return (*task.needs, *(key for key in task.uses if key in there))


def _produces(task: Task, declared: DeclaredCluster) -> tuple[str, ...]:
    """Return what a task produces: a workload cluster that names no management cluster has no reference to one."""
    lacking = declared.kind is ClusterKind.WORKLOAD and not declared.management
    return tuple(key for key in task.produces if not (lacking and key is Key.MANAGEMENT))


def _seconds_of_components(task: Task, declared: DeclaredCluster) -> int:
    seconds = sum(each.seconds for each in declared.components if each.role == task.role)
    if seconds > MOST_COMPONENT_SECONDS:
        raise StepTooLong(task.id, seconds, MOST_COMPONENT_SECONDS)
    return seconds


def check(tasks: Sequence[Task], steps: Iterable[Step], hooks: Sequence[Bound]) -> None:
    """Raise ClusterRefused for tasks that run and hooks that cannot work together."""
    ids = [task.id for task in tasks]
    for each in ids:
        if ids.count(each) > 1:
            raise DuplicateId("tasks", each)
    _refuse_keys(tasks, hooks)
    runs = list(_runs([step for step in steps if step.due], hooks))
    produced: set[str] = set()
    for run in runs:
        for key in run.needs:
            if key not in produced:
                raise KeyNotProduced(run.name, key, produced)
        produced.update(run.produces)
    list(released(tasks))
    _refuse_unreleased(hooks, [run.name for run in runs])


@dataclass(frozen=True, slots=True)
class _Run:
    """A task or a hook as one of those that run after each other."""

    name: str
    needs: tuple[str, ...]
    produces: tuple[str, ...]


def _runs(steps: Iterable[Step], hooks: Sequence[Bound]) -> Iterator[_Run]:
    yield from _hooks_at(hooks, HookPoint.BEFORE)
    for step in steps:
        yield from _hooks_at(hooks, HookPoint.BEFORE, step.task)
        yield _Run(step.task, step.needs, step.produces)
        yield from _hooks_at(hooks, HookPoint.AFTER, step.task)
    yield from _hooks_at(hooks, HookPoint.AFTER)
    yield from _hooks_at(hooks, HookPoint.ALWAYS)


def _hooks_at(hooks: Iterable[Bound], point: HookPoint, task: str = "") -> Iterator[_Run]:
    for each in hooks:
        if (each.point, each.task) == (point, task):
            yield _Run(each.id, each.hook.needs, each.hook.produces)


def _refuse_keys(tasks: Iterable[Task], hooks: Iterable[Bound]) -> None:
    taken: set[str] = {*Key, *(key for task in tasks for key in task.produces)}
    for each in hooks:
        for key in each.hook.produces:
            if key in taken:
                raise DuplicateKey(each.id, key)
            taken.add(key)


def released(tasks: Sequence[Task]) -> Iterator[str]:
    """Yield the tasks that a failure runs to give back what these tasks acquire, the last acquired first.

    Raise NeverReleased if nothing after a task gives it back.
    """
    for number, task in reversed(list(enumerate(tasks))):
        if task.acquires:
            release = next((each for each in tasks[number + 1 :] if each.releases is task.acquires), None)
            if release is None:
                raise NeverReleased(task.id, task.acquires, "after it")
            if not release.kept:
                yield release.id


def _refuse_unreleased(hooks: Sequence[Bound], order: list[str]) -> None:
    for each in (one for one in hooks if one.hook.acquires):
        releases = [other for other in hooks if other.hook.releases == each.hook.acquires]
        if not any(other.point in {HookPoint.ON_ERROR, HookPoint.ALWAYS} for other in releases):
            raise NeverReleased(each.id, each.hook.acquires, "that runs after a failure")
        later = order[order.index(each.id) + 1 :] if each.id in order else [other.id for other in releases]
        if not any(other.id in later for other in releases):
            raise NeverReleased(each.id, each.hook.acquires, "that runs after it")


def _versions(
    declared: DeclaredCluster,
    spec: Spec,
    current: CurrentCluster | None,
    provider: ProviderFacts,
    operation: Operation,
) -> tuple[VersionChange, ...]:
    """Return the versions that change, each with what it was and what it becomes; nothing is left of a deleted one."""
    before = _of_current(current) if current else {}
    after = {} if operation is Operation.DELETE else _of_declared(declared, spec, provider)
    pairs = ((name, before.get(name, ""), after.get(name, "")) for name in {**before, **after})
    return tuple(VersionChange(*each) for each in pairs if each[1] != each[2])


def _of_current(current: CurrentCluster) -> dict[str, str]:
    return {
        KUBERNETES: current.kubernetes,
        f"provider {current.provider}": current.provider_version,
        **dict(current.components),
    }


def _of_declared(declared: DeclaredCluster, spec: Spec, provider: ProviderFacts) -> dict[str, str]:
    components = {each.name: each.version for each in declared.components}
    return {KUBERNETES: spec.kubernetes, f"provider {provider.name}": provider.version, **components}


def _refuse_large(plan: ClusterPlan, hooks: int) -> None:
    if hooks > MOST_HOOKS:
        raise PlanTooLarge("hooks", hooks, MOST_HOOKS)
    size = len(json.dumps(plan.execution_input).encode())
    if size > MOST_BYTES:
        raise PlanTooLarge("bytes", size, MOST_BYTES)


def machine_hash(workflow: Workflow, provider: ProviderFacts, registrars: Iterable[Registrar]) -> str:
    """Return the hash of what a state machine is rendered from: its tasks, and the installation's hooks at them.

    What is only said to people of a task may change.
    """
    tasks = tasks_of(workflow, provider.capabilities)
    without_words = [replace(task, contract="", duty="", probe="", errors="", why="") for task in tasks]
    hooks = bound_hooks(workflow, tasks, registrars)
    places = [(each.id, each.point, each.task) for each in hooks]
    return _digest(workflow.name, provider.name, [asdict(task) for task in without_words], places)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

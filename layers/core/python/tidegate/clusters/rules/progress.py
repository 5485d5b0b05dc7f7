"""What a workflow does at a task or hook: run it, or not, and why; and what is left after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from tidegate.clusters.rules.execution_refusals import MissingValue, NotItsTurn, UnexpectedValue
from tidegate.clusters.rules.order import TaskResult
from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook, Step
from tidegate.clusters.rules.record import Checkpoint, ClusterRecord, Held, Phase, PhaseState, Place
from tidegate.clusters.rules.task_catalogue import DIAGNOSTICS
from tidegate.deploys.rules.cluster import HookFailure, HookPoint

#: What a failed workflow runs to say more about the clusters.
DIAGNOSES = {each.id: each for each in DIAGNOSTICS}
#: A value is a reference or a small document: larger things are files in the bucket.
LONGEST_VALUE, MOST_VALUES = 4_096, 50
#: The record of a cluster is one item of a table. A move may warn of each of thousands of objects.
MOST_WARNINGS, LONGEST_WARNING = 50, 500
_MORE = "There are more warnings: see the logs."
_AFTER_AN_ERROR = (HookPoint.ON_ERROR, HookPoint.ALWAYS)


class Next(StrEnum):
    """What follows."""

    RUN = "run"
    DONE = "done"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True)
class TaskDecision:
    """What follows at a place, and why. ``values`` are those of the checkpoint that says that it was done."""

    next: Next
    reason: str = ""
    values: tuple[tuple[str, str], ...] = ()


def hook_of(plan: ClusterPlan, place: Place) -> PlannedHook | None:
    """Return the planned hook at a place, None for a task. Raise NotItsTurn for an unknown one."""
    if not place.hook:
        return None
    for hook in plan.hooks:
        if (hook.task, hook.name, hook.registrar) == (place.task, place.hook, place.registrar):
            return hook
    raise NotItsTurn(f"The plan has no {place} of {place.registrar}.")


def seconds_of(plan: ClusterPlan, task: str) -> int:
    """Return the time limit of a task."""
    step = plan.step(task)
    return step.seconds if step else DIAGNOSES[task].seconds


def is_checkpointed(plan: ClusterPlan, place: Place) -> bool:
    """Tell whether a resumed workflow may leave it out. Validation, and what runs at each end, always runs again."""
    hook, step = hook_of(plan, place), plan.step(place.task)
    if hook is not None:
        return hook.point not in _AFTER_AN_ERROR
    return step is not None and step.checkpoint


def decide_task(record: ClusterRecord, plan: ClusterPlan, place: Place, checkpoint: Checkpoint | None) -> TaskDecision:
    """Decide what follows at a place, for an execution that has the lock. Raise NotItsTurn."""
    hook, step = hook_of(plan, place), plan.step(place.task)
    if step is None and hook is None and place.task not in DIAGNOSES:
        raise NotItsTurn(f"The plan has no task {place.task!r}.")
    if record.working.first_error is not None:
        return _after_an_error(record, plan, place, hook, step)
    if place.task in DIAGNOSES or (hook is not None and hook.point is HookPoint.ON_ERROR):
        raise NotItsTurn(f"{place} runs only once the workflow has failed.")
    if step is not None and not step.due:
        return TaskDecision(Next.NOT_NEEDED, step.why)
    if checkpoint is not None:
        return TaskDecision(Next.DONE, f"The deployment {checkpoint.deployment} did it.", checkpoint.values)
    return TaskDecision(Next.RUN)


def _after_an_error(
    record: ClusterRecord, plan: ClusterPlan, place: Place, hook: PlannedHook | None, step: Step | None
) -> TaskDecision:
    if place.task in DIAGNOSES or (hook is not None and hook.point in _AFTER_AN_ERROR):
        return TaskDecision(Next.RUN)
    if hook is None and step is not None and _gives_back(record, plan, step):
        if any(each.name == step.releases for each in record.held):
            return TaskDecision(Next.RUN)
        return TaskDecision(Next.NOT_NEEDED, "There is nothing to give back.")
    raise NotItsTurn(f"The workflow has failed: {place} does not run any more.")


def _gives_back(record: ClusterRecord, plan: ClusterPlan, step: Step) -> bool:
    """Tell whether a task gives something back after a failure: what is kept for a resume only for an operator."""
    return bool(step.releases) and (record.working.gives_up or step.task in plan.releases)


def begun(record: ClusterRecord, plan: ClusterPlan, phase: Phase) -> ClusterRecord:
    """Return the record with a task or hook that runs. What it takes is held from now on, whatever becomes of it."""
    step = None if phase.place.hook else plan.step(phase.place.task)
    record = record.with_phase(phase)
    if step is None or not step.acquires or any(each.name == step.acquires for each in record.held):
        return record
    return replace(record, held=(*record.held, Held(step.acquires, step.task, phase.begun_at)))


def done(record: ClusterRecord, plan: ClusterPlan, phase: Phase, result: TaskResult, at: datetime) -> ClusterRecord:
    """Return the record after a task or hook, without what it has given back."""
    step = None if phase.place.hook else plan.step(phase.place.task)
    record = record.with_phase(replace(phase, state=PhaseState.DONE, ended_at=at, reason=_found(result)))
    record = _warned(record, *(f"{phase.place}: {each}" for each in result.warnings))
    if step is None or not step.releases:
        return record
    return replace(record, held=tuple(each for each in record.held if each.name != step.releases))


def failed(record: ClusterRecord, plan: ClusterPlan, phase: Phase, reason: str, at: datetime) -> ClusterRecord:
    """Return the record after a failure, which a hook may declare to be only a warning."""
    hook = hook_of(plan, phase.place)
    warns = hook is not None and hook.on_error is HookFailure.WARN
    state = PhaseState.WARNED if warns else PhaseState.FAILED
    record = record.with_phase(replace(phase, state=state, ended_at=at, reason=reason))
    return _warned(record, f"{phase.place}: {reason}") if warns else record


def _found(result: TaskResult) -> str:
    return "There was nothing to do." if result.found else ""


def _warned(record: ClusterRecord, *warnings: str) -> ClusterRecord:
    all_ = (*record.working.warnings, *(each[:LONGEST_WARNING] for each in warnings))
    kept = all_ if len(all_) <= MOST_WARNINGS else (*all_[: MOST_WARNINGS - 1], _MORE)
    return record.with_run(replace(record.working, warnings=kept))


def values_for(plan: ClusterPlan, place: Place, known: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the values of the context for a task or hook. Raise MissingValue.

    A task gets what it needs, a hook all. So does a task that gives something back once the workflow has failed, and
    diagnostics: they take what is there.
    """
    step = plan.step(place.task)
    if place.hook or step is None or step.releases:
        return tuple(sorted(known.items()))
    missing = [key for key in step.needs if key not in known]
    if missing:
        raise MissingValue(f"{place} needs {', '.join(missing)}, which no task of this workflow has produced.")
    return tuple((key, known[key]) for key in step.needs)


def check_values(plan: ClusterPlan, place: Place, result: TaskResult) -> None:
    """Check what a task or hook has produced: all that it declares, and nothing else. Raise UnexpectedValue."""
    names = {key for key, _ in result.values}
    planned = hook_of(plan, place) or plan.step(place.task)
    wrong = names ^ set(planned.produces if planned else ())
    if wrong:
        raise UnexpectedValue(f"{place} has not produced exactly its values: {', '.join(sorted(wrong))}.")
    if len(names) > MOST_VALUES or any(len(value.encode()) > LONGEST_VALUE for _, value in result.values):
        raise UnexpectedValue(f"{place} has produced more than {MOST_VALUES} values of {LONGEST_VALUE} bytes each.")


def undone_by(plan: ClusterPlan, release: Place) -> tuple[Place, ...]:
    """Return the places whose checkpoints do not hold once a task gave something back after a failure.

    These are the task that had taken it, every task that needs a value of such a one, and their hooks.
    """
    step = None if release.hook else plan.step(release.task)
    given_back = step.releases if step else ""
    gone = {each.task for each in plan.steps if each.acquires and each.acquires == given_back}
    for step in plan.steps:
        lost = {key for each in plan.steps if each.task in gone for key in each.produces}
        if lost & set(step.needs):
            gone.add(step.task)
    steps = [each for each in plan.steps if each.task in gone]
    hooks = [(each, hook) for each in steps for hook in (*each.before, *each.after)]
    return (
        *(Place(each.task) for each in steps),
        *(Place(each.task, hook.name, hook.registrar) for each, hook in hooks),
    )


def releases_due(record: ClusterRecord, plan: ClusterPlan) -> tuple[str, ...]:
    """Return the tasks that give back what is held, the last acquired first."""
    by_name = {each.releases: each.task for each in plan.steps if _gives_back(record, plan, each)}
    return tuple(by_name[each.name] for each in reversed(record.held) if each.name in by_name)

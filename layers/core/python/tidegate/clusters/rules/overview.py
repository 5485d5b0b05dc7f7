"""What people see of a cluster: its state, and its workflow's tasks and hooks in their order, each with its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.clusters.rules.ending import has_failed
from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook, Step
from tidegate.clusters.rules.record import ClusterRecord, ClusterRun, Phase, Place
from tidegate.clusters.rules.task_catalogue import DIAGNOSTICS

_TITLES = {each.id: each.title for each in DIAGNOSTICS}


class ClusterState(StrEnum):
    """How a cluster is. ``incomplete``: some of it may be there, of a workflow that was given up."""

    READY = "ready"
    WORKING = "working"
    RELEASING = "releasing"
    FAILED = "failed"
    INCOMPLETE = "incomplete"
    ABSENT = "absent"


class PartState(StrEnum):
    """How far a task or hook is: as ``PhaseState``, and ``waiting`` or ``not-reached`` for what has not begun."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    DONE_BEFORE = "done-before"
    NOT_NEEDED = "not-needed"
    WARNED = "warned"
    FAILED = "failed"
    NOT_REACHED = "not-reached"


#: What needs no more work.
SETTLED = frozenset({PartState.DONE, PartState.DONE_BEFORE, PartState.WARNED, PartState.NOT_NEEDED})

#: What people look for first.
NOTED = frozenset({PartState.RUNNING, PartState.WARNED, PartState.FAILED})


@dataclass(frozen=True, slots=True)
class Part:
    """A task or hook of a workflow. ``phase`` is None before it begins; ``reason`` says why it is as it is."""

    place: Place
    title: str
    state: PartState
    reason: str = ""
    phase: Phase | None = None

    @property
    def name(self) -> str:
        """What it is called in a sentence: a hook also by its task."""
        return str(self.place) if self.place.hook else self.title

    @property
    def job(self) -> str:
        return self.phase.job if self.phase else ""

    @property
    def apply(self) -> str:
        """The job that applied, or applies, the root module, if the log to show is another one."""
        return self.phase.apply if self.phase and self.phase.apply != self.phase.job else ""

    def took(self, now: datetime) -> timedelta | None:
        """Return how long it has run; None for what did not."""
        if self.phase is None or self.state in {PartState.NOT_NEEDED, PartState.DONE_BEFORE}:
            return None
        return (self.phase.ended_at or now) - self.phase.begun_at


@dataclass(frozen=True, slots=True)
class TaskParts:
    """A task with the hooks before and after it."""

    task: Part
    before: tuple[Part, ...] = ()
    after: tuple[Part, ...] = ()

    @property
    def hooks(self) -> tuple[Part, ...]:
        return (*self.before, *self.after)

    @property
    def needs_attention(self) -> bool:
        """Whether a hook runs or has failed."""
        return any(each.state in NOTED for each in self.hooks)


@dataclass(frozen=True, slots=True)
class WorkflowOverview:
    """A workflow in its order. ``start`` and ``end`` are hooks of the whole.

    ``more`` is what ran besides: diagnostics after a failure, and everything if the plan is not there any more.
    """

    start: tuple[Part, ...] = ()
    tasks: tuple[TaskParts, ...] = ()
    end: tuple[Part, ...] = ()
    on_error: tuple[Part, ...] = ()
    always: tuple[Part, ...] = ()
    more: tuple[Part, ...] = ()

    @property
    def all(self) -> Iterator[Part]:
        yield from self.start
        for each in self.tasks:
            yield from (*each.before, each.task, *each.after)
        yield from (*self.end, *self.more, *self.on_error, *self.always)

    @property
    def failed(self) -> Part | None:
        """What failed first."""
        failed = (each for each in self.all if each.state is PartState.FAILED)
        return min(failed, key=_ended, default=None)

    def of(self, *states: PartState) -> tuple[Part, ...]:
        """Return the tasks that are in one of these states."""
        return tuple(each.task for each in self.tasks if each.task.state in states)


def cluster_state(record: ClusterRecord) -> ClusterState:
    """Return how a cluster is."""
    if record.lock is not None:
        return ClusterState.RELEASING if record.run and record.run.gives_up else ClusterState.WORKING
    if has_failed(record):
        return ClusterState.FAILED
    if record.current is not None:
        return ClusterState.READY
    return ClusterState.INCOMPLETE if record.exists else ClusterState.ABSENT


def workflow_overview(run: ClusterRun, plan: ClusterPlan | None) -> WorkflowOverview:
    """Return the workflow that runs or ran last. Without its plan, that is what has begun of it."""
    over = run.ended_at is not None or run.first_error is not None
    phases = {each.place: each for each in run.phases}

    def hooks(planned: Iterable[PlannedHook], *, ended: bool = over) -> tuple[Part, ...]:
        return tuple(_hook(each, phases, over=ended) for each in planned)

    if plan is None:
        return WorkflowOverview(more=tuple(_begun(each) for each in run.phases))
    tasks = tuple(
        TaskParts(_task(each, phases, over=over), hooks(each.before), hooks(each.after)) for each in plan.steps
    )
    # Hooks of the end wait until the end, also after a failure.
    ended = run.ended_at is not None
    on_error = hooks(plan.on_error, ended=ended) if run.first_error else ()
    found = WorkflowOverview(hooks(plan.before), tasks, hooks(plan.after), on_error, hooks(plan.always, ended=ended))
    known = {each.place for each in found.all}
    more = tuple(_begun(each) for each in run.phases if each.place not in known)
    return WorkflowOverview(found.start, tasks, found.end, on_error, found.always, more)


def _task(step: Step, phases: dict[Place, Phase], *, over: bool) -> Part:
    place = Place(step.task)
    phase = phases.get(place)
    if phase is None and not step.due:
        return Part(place, step.title, PartState.NOT_NEEDED, step.why)
    return _part(place, step.title, phase, over=over)


def _hook(hook: PlannedHook, phases: dict[Place, Phase], *, over: bool) -> Part:
    place = Place(hook.task, hook.name, hook.registrar)
    return _part(place, hook.name, phases.get(place), over=over)


def _begun(phase: Phase) -> Part:
    return _part(phase.place, _TITLES.get(phase.place.task, str(phase.place)), phase, over=True)


def _part(place: Place, title: str, phase: Phase | None, *, over: bool) -> Part:
    if phase is None:
        return Part(place, title, PartState.NOT_REACHED if over else PartState.WAITING)
    return Part(place, title, PartState(phase.state.value), phase.reason, phase)


def _ended(part: Part) -> datetime:
    assert part.phase is not None  # noqa: S101  # What has failed had begun.
    return part.phase.ended_at or part.phase.begun_at

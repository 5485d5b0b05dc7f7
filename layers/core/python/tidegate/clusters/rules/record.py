"""The record of a cluster: what it is, who works on it, what the running workflow has done, and what it holds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum

from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import ClusterKind, CurrentCluster, ProviderName
from tidegate.plans.rules.plan import Artifact


@dataclass(frozen=True, slots=True)
class Place:
    """What of a workflow runs: a task, or a hook at it. ``task`` is empty for a hook of the whole workflow."""

    task: str = ""
    hook: str = ""
    registrar: str = ""

    def __str__(self) -> str:
        if not self.hook:
            return self.task
        return f"hook {self.hook} at {self.task}" if self.task else f"hook {self.hook}"


class PhaseState(StrEnum):
    """How far something is. ``done-before``: a checkpoint says so. ``warned``: its failure is only shown."""

    RUNNING = "running"
    DONE = "done"
    DONE_BEFORE = "done-before"
    NOT_NEEDED = "not-needed"
    WARNED = "warned"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Phase:
    """One task or hook in the running workflow. ``attempt`` counts its jobs, ``job`` is the last, if it has one.

    ``apply`` is the job that applies the root module for it; ``applying`` tells that its result is not known.
    """

    place: Place
    state: PhaseState
    begun_at: datetime
    ended_at: datetime | None = None
    attempt: int = 1
    job: str = ""
    reason: str = ""
    apply: str = ""
    applying: bool = False


@dataclass(frozen=True, slots=True)
class Lock:
    """Who may change the cluster. ``fence`` grows with every holder: what has seen a higher one refuses a lower one."""

    deployment: str
    execution: str
    fence: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Held:
    """Something that the task has taken, such as a pause, and another one must give back."""

    name: str
    task: str
    at: datetime


@dataclass(frozen=True, slots=True)
class FirstError:
    """The error that a workflow failed with. Later ones are those of diagnostics and releases."""

    error: str
    cause: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Identity:
    """What a checkpoint holds for: another operation, file, provider or list of steps finds none."""

    operation: Operation
    spec_hash: str
    provider_version: str
    definition: str


@dataclass(frozen=True, slots=True)
class ClusterRun:
    """The workflow that runs, or ran last. ``gives_up``: an operator has everything given back, to start over."""

    deployment: str
    execution: str
    workflow: str
    plan: Artifact
    identity: Identity
    begun_at: datetime
    ended_at: datetime | None = None
    phases: tuple[Phase, ...] = ()
    jobs: int = 0
    first_error: FirstError | None = None
    warnings: tuple[str, ...] = ()
    gives_up: bool = False

    def phase(self, place: Place) -> Phase | None:
        return next((each for each in self.phases if each.place == place), None)


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """A cluster's record. ``version`` counts saves.

    ``current`` is what the last completed workflow has made, None before the first and after a deletion. ``exists``
    tells that some of it may be there. ``held`` is in the order of acquisition. ``epoch`` grows when a workflow
    completes or is given up: its checkpoints are then of the past.
    """

    repository: str
    name: str
    kind: ClusterKind
    provider: ProviderName
    management: str = ""
    version: int = 0
    current: CurrentCluster | None = None
    exists: bool = False
    fence: int = 0
    epoch: int = 0
    lock: Lock | None = None
    run: ClusterRun | None = None
    held: tuple[Held, ...] = ()

    def with_phase(self, phase: Phase) -> ClusterRecord:
        """Return the record with this phase in place of an earlier one of the same place."""
        run = self.working
        known = any(each.place == phase.place for each in run.phases)
        phases = (
            tuple(phase if each.place == phase.place else each for each in run.phases)
            if known
            else (*run.phases, phase)
        )
        return self.with_run(replace(run, phases=phases))

    def with_run(self, run: ClusterRun) -> ClusterRecord:
        return replace(self, run=run)

    @property
    def working(self) -> ClusterRun:
        """The run of a locked cluster."""
        assert self.run is not None  # noqa: S101  # Who locks a cluster begins a run.
        return self.run


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """That something was done, by which deployment, and which values of the context it produced."""

    place: Place
    deployment: str
    at: datetime
    values: tuple[tuple[str, str], ...] = ()


def identity_of(plan: ClusterPlan) -> Identity:
    """Return what the checkpoints of a plan hold for."""
    return Identity(plan.workflow.operation, plan.spec_hash, plan.provider_version, plan.definition)


def checkpoint_key(record: ClusterRecord, place: Place) -> str:
    """Return the key of a checkpoint of the record's run, in hexadecimal."""
    what = [record.epoch, asdict(record.working.identity), asdict(place)]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def current_of(record: ClusterRecord, all_: tuple[ClusterRecord, ...]) -> CurrentCluster | None:
    """Return what a cluster is, with the workload clusters that name it as their management cluster."""
    return replace(record.current, workloads=workloads_of(record, all_)) if record.current else None


def workloads_of(record: ClusterRecord, all_: tuple[ClusterRecord, ...]) -> tuple[str, ...]:
    """Return the workload clusters of a management cluster, those that are half made included."""
    return tuple(sorted(each.name for each in all_ if each.management == record.name and each.exists))

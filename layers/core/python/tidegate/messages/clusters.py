"""Input and output of the tasks of the state machines of clusters."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tidegate.messages import Message, TaskSize


class OfCluster(Message):
    """A step of the workflow that carries out a deployment of a cluster. ``execution`` is the workflow's name."""

    deployment: str
    execution: str


class BeginCluster(OfCluster):
    """Locks the cluster for this execution. ``machine`` is the hash of what its state machine was rendered from."""

    machine: str = ""


class ClusterBegun(Message):
    """The number of the lock, which grows with every holder."""

    fence: int


class AtPlace(OfCluster):
    """A task of the workflow, or a hook of a registrar at it; ``task`` is empty for a hook of the whole workflow."""

    task: str = ""
    hook: str = ""
    registrar: str = ""


class BeginClusterTask(AtPlace):
    """Begins a task or hook. ``attempt`` numbers its jobs; ``applied`` tells that the root module is applied."""

    attempt: int = Field(default=1, ge=1)
    applied: bool = False


class ClusterTaskBegun(Message):
    """What follows, and why.

    ``run``: the created job is for a runner, as in ``JobBegun``. ``apply``: it is for the terraform machine, which
    applies the root module; after that, the task begins again. ``call``: ``function`` takes ``payload``. ``done``: it
    was done before. ``not needed``: it is left out.
    """

    next: Literal["run", "apply", "call", "done", "not needed"]
    reason: str = ""
    job: str = ""
    digest: str = ""
    size: TaskSize | None = None
    seconds: int = 0
    function: str = ""
    payload: dict[str, Any] = Field(default_factory=dict)


class RecordClusterTask(AtPlace):
    """Records what a task or hook has produced."""


class FailClusterTask(AtPlace):
    """Records why a task or hook has failed. ``error`` and ``cause`` are those of the failed state."""

    error: str
    cause: str = ""


class ClusterTaskFailed(Message):
    """Whether the workflow goes on, because the failure of this hook is only a warning."""

    goes_on: bool
    reason: str


class EndCluster(OfCluster):
    """Records what the cluster is now, and unlocks it."""


class FailCluster(OfCluster):
    """Records the first error of a workflow. ``error`` and ``cause`` are those of the failed state."""

    error: str
    cause: str = ""


class NamedHook(Message):
    """A hook of the whole workflow."""

    hook: str
    registrar: str


class ClusterFailed(Message):
    """What follows a failure: hooks, and tasks that give back what is held, the last acquired first."""

    on_error: tuple[NamedHook, ...]
    releases: tuple[str, ...]
    always: tuple[NamedHook, ...]


class EndFailedCluster(OfCluster):
    """Unlocks a cluster whose workflow has failed. ``error`` and ``cause`` count if none was recorded."""

    error: str
    cause: str = ""


class FailedClusterEnded(Message):
    """The first error, for the deployment's record.

    ``unknown``: the root module may have been applied, as no result of its apply has come.
    """

    state: Literal["failed", "unknown"] = "failed"
    error: str
    cause: str
    last_lines: str = ""

"""The plan of a workflow: everything that is decided before anything runs.

It is stored with its digest when the cluster's root is planned, is what people review, and is the input of the
execution that carries it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidegate.clusters.rules.workflow import Workflow
from tidegate.deploys.rules.cluster import DeclaredCluster, HookFailure, HookPoint
from tidegate.plans.rules.plan import Artifact

#: How a plan names the version of Kubernetes itself among the versions that change.
KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True)
class PlannedHook:
    """A hook at its place. ``registrar`` is who registered it, ``repository`` for one of ``tidegate.yaml``.

    ``task`` is empty for the workflow's own hooks. ``needs`` and ``produces`` are keys of the context. What it does is
    a ``command``, a ``function`` of the installation, or an ``action`` that the runner knows. ``seconds`` is its time
    limit.
    """

    name: str
    registrar: str
    point: HookPoint
    task: str = ""
    on_error: HookFailure = HookFailure.FAIL
    needs: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    function: str = ""
    action: str = ""
    seconds: int = 900


@dataclass(frozen=True, slots=True)
class Step:
    """A task in its workflow. ``due`` tells whether it runs, ``why`` says the reason, as a sentence.

    ``needs`` and ``produces`` are keys of the context. ``seconds`` is its time limit. ``acquires`` names what it takes
    and another task must give back, such as a pause; ``releases`` what it gives back itself. Without a ``checkpoint``,
    a resumed workflow runs it again.
    """

    task: str
    title: str
    needs: tuple[str, ...]
    produces: tuple[str, ...]
    seconds: int
    due: bool = True
    why: str = ""
    before: tuple[PlannedHook, ...] = ()
    after: tuple[PlannedHook, ...] = ()
    acquires: str = ""
    releases: str = ""
    checkpoint: bool = True


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A version that changes: of Kubernetes, of the provider or of a component. Empty: there is none."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """A workflow's plan.

    ``spec_hash`` is the hash of the cluster's file and declaration, ``cluster_hash`` that without components, and
    ``definition`` that of the steps: checkpoints hold for the first and the last. ``terraform`` is the plan of the
    provider's root module, None without one, and ``unchanged`` tells that there is nothing in it to apply. ``releases``
    are the ids of the tasks that give back what others acquire, in the order in which a failure runs them. ``machine``
    is the hash of what its state machine was rendered from: one with other states of the installation's hooks refuses
    the plan.
    """

    cluster: DeclaredCluster
    workflow: Workflow
    provider_version: str
    spec_hash: str
    definition: str
    versions: tuple[VersionChange, ...]
    steps: tuple[Step, ...]
    before: tuple[PlannedHook, ...] = ()
    after: tuple[PlannedHook, ...] = ()
    on_error: tuple[PlannedHook, ...] = ()
    always: tuple[PlannedHook, ...] = ()
    releases: tuple[str, ...] = ()
    terraform: Artifact | None = None
    machine: str = ""
    cluster_hash: str = ""
    unchanged: bool = False

    def step(self, task: str) -> Step | None:
        """Return the step of a task, None if the workflow has no such task."""
        return next((each for each in self.steps if each.task == task), None)

    @property
    def hooks(self) -> Iterator[PlannedHook]:
        """All hooks, those of the whole workflow first."""
        for hooks in (self.before, self.after, self.on_error, self.always):
            yield from hooks
        for step in self.steps:
            yield from (*step.before, *step.after)

    def applies_at(self, task: str) -> bool:
        """Tell whether the plan of the root module is applied at this task."""
        return self.terraform is not None and not self.unchanged and task in _APPLYING

    @property
    def execution_input(self) -> dict[str, Any]:
        """What the execution needs of it: which tasks are due, and the names of the repository's hooks.

        ``{"due": {TASK: bool}, "before": {TASK: [HOOK]}, "after": {TASK: [HOOK]}, "start": [HOOK], "end": [HOOK],
        "onError": [HOOK], "always": [HOOK], "releases": [TASK]}``. Hooks of the installation are states of their own.
        """
        names = _of_repository
        return {
            "due": {each.task: each.due for each in self.steps},
            "before": {each.task: names(each.before) for each in self.steps},
            "after": {each.task: names(each.after) for each in self.steps},
            "start": names(self.before),
            "end": names(self.after),
            "onError": names(self.on_error),
            "always": names(self.always),
            "releases": [*self.releases],
        }


#: The tasks that make a cluster what its file says, or delete it.
_APPLYING = frozenset(
    {
        "create-management-cluster",
        "create-workload-cluster",
        "upgrade-cluster",
        "delete-management-cluster",
        "delete-workload-cluster",
    }
)
#: The registrar of hooks that ``tidegate.yaml`` declares.
REPOSITORY = "repository"


def _of_repository(hooks: tuple[PlannedHook, ...]) -> list[str]:
    return [each.name for each in hooks if each.registrar == REPOSITORY]

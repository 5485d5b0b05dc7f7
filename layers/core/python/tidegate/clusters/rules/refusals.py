"""Refusals of cluster workflows: one class each, whose message says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.roots.rules.nearest import nearest
from tidegate.rules.errors import TidegateError, quoted


class ClusterRefused(TidegateError):
    """A cluster whose workflow cannot be constructed: nothing has run."""


class InvalidSpec(ClusterRefused):
    """A cluster's file that cannot be used."""

    def __init__(self, key: str, problem: str, allowed: str) -> None:
        super().__init__(f"{key} in the cluster's file {problem}. Allowed: {allowed}.")


class UnreadableSpec(ClusterRefused):
    """A cluster's file that is no YAML of plain values. The message says where, and what is allowed."""


class FileMissing(ClusterRefused):
    """A file that the declaration of a cluster names, and that is not there."""

    def __init__(self, cluster: str, use: str, name: str) -> None:
        super().__init__(
            f"{quoted(name)}, which tidegate.yaml names as the {use} of {cluster}, is not in the commit. "
            "Add it, or correct the path."
        )


class UnknownAnchor(ClusterRefused):
    """A hook at a task that the workflow does not have."""

    def __init__(self, hook: str, task: str, known: Sequence[str]) -> None:
        near = nearest(task, known)
        meant = f" Did you mean {near}?" if near else ""
        super().__init__(
            f"The hook {hook} is bound to {quoted(task)}, which is no task of this workflow.{meant} "
            f"Its tasks are: {', '.join(known)}."
        )
        self.near, self.known = near, tuple(known)


class InvalidHook(ClusterRefused):
    """A hook that is declared in a way that cannot work."""

    def __init__(self, hook: str, problem: str) -> None:
        super().__init__(f"The hook {hook} {problem}.")


class DuplicateId(ClusterRefused):
    """Two tasks, or two hooks of one registrar, with one id: their checkpoints would be the same."""

    def __init__(self, kind: str, identifier: str) -> None:
        super().__init__(f"There are two {kind} {quoted(identifier)} in this workflow. Give one of them another name.")


class DuplicateKey(ClusterRefused):
    """A hook that produces a key of the context that is not its own."""

    def __init__(self, hook: str, key: str) -> None:
        super().__init__(
            f"The hook {hook} produces {quoted(key)}, which a task or another hook produces. Hooks may only add keys: "
            "choose another one."
        )


class KeyNotProduced(ClusterRefused):
    """A step that needs a key of the context that nothing before it produces."""

    def __init__(self, step: str, key: str, produced: Iterable[str]) -> None:
        there = ", ".join(sorted(produced)) or "none"
        super().__init__(f"{step} needs {quoted(key)}, which nothing before it produces. There are: {there}.")


class NeverReleased(ClusterRefused):
    """Something that is taken and not given back, at the end or after a failure."""

    def __init__(self, step: str, resource: str, missing: str) -> None:
        super().__init__(f"{step} takes {quoted(resource)}, and nothing {missing} gives it back.")


class PlanTooLarge(ClusterRefused):
    """A plan that is larger than Step Functions takes."""

    def __init__(self, what: str, size: int, most: int) -> None:
        super().__init__(
            f"The plan has {size:,} {what}, of {most:,} that are possible. Declare fewer or shorter hooks."
        )


class StepTooLong(ClusterRefused):
    """A task whose components may take longer than a task may."""

    def __init__(self, task: str, seconds: int, most: int) -> None:
        super().__init__(
            f"The components of {task} may take {seconds} seconds, of {most} that are possible. Lower their limits."
        )


class VersionSkipped(ClusterRefused):
    """An upgrade over more than one minor version."""

    def __init__(self, before: str, after: str, step: str) -> None:
        super().__init__(
            f"Kubernetes {before} cannot become {after}: an upgrade goes one minor version at a time. Upgrade to "
            f"{step} first."
        )


class Downgraded(ClusterRefused):
    """A version that is lower than the current one."""

    def __init__(self, before: str, after: str) -> None:
        super().__init__(f"Kubernetes {before} cannot become {after}: it cannot be downgraded. Restore {before}.")


class NewerThanManagement(ClusterRefused):
    """A workload cluster with a newer Kubernetes than its management cluster, which cannot manage it."""

    def __init__(self, version: str, management: str, managing: str) -> None:
        super().__init__(
            f"Kubernetes {version} is newer than {managing} of its management cluster {management}, which manages its "
            f"own version and older ones. Upgrade {management} before, or in the same change."
        )


class ManagementMissing(ClusterRefused):
    """A workload cluster whose management cluster is not there."""

    def __init__(self, management: str) -> None:
        super().__init__(
            f"The management cluster {quoted(management)} is not there, or is to be destroyed. Create or keep it."
        )


class WorkloadsRemain(ClusterRefused):
    """The deletion of a management cluster that still has workload clusters."""

    def __init__(self, name: str, workloads: Sequence[str]) -> None:
        super().__init__(
            f"{name} still manages {', '.join(workloads)}, which nothing could upgrade or delete any more. Delete them "
            "first."
        )


class NoContainerEngine(ClusterRefused):
    """A bootstrap cluster of containers: the runner has no container engine."""

    def __init__(self, places: Sequence[str]) -> None:
        super().__init__(
            "A bootstrap cluster of containers needs a container engine, which the runner does not have. Let it live "
            f"elsewhere: bootstrap may be {', '.join(places)}."
        )


class BootstrapNotOffered(ClusterRefused):
    """A bootstrap cluster in a place, or none, where the provider does not work with it."""

    def __init__(self, provider: str, place: str, places: Sequence[str]) -> None:
        allowed = f"it may be {', '.join(places)}" if places else "remove it, as the provider needs none"
        super().__init__(f"The provider {provider} works with no bootstrap cluster {quoted(place)}: {allowed}.")


class BootstrapNotSaid(ClusterRefused):
    """A bootstrap cluster of which the cluster's file does not say how it comes about."""

    def __init__(self, place: str, keys: Sequence[str]) -> None:
        words = {"tasks": "a command as provider.tasks.create-bootstrap-cluster", "bootstrap": "provider.bootstrap"}
        said = " or ".join(words[each] for each in keys)
        super().__init__(
            f"The cluster's file says bootstrap: {place}, and not how that bootstrap cluster comes about. Add {said}."
        )


class WrongWorkflow(ClusterRefused):
    """An operation that clusters of a kind do not have."""

    def __init__(self, kind: str, operation: str) -> None:
        super().__init__(f"A {kind} cluster has no operation {operation}.")


class NothingToChange(ClusterRefused):
    """An operation on a cluster that is not there, or a creation of one that is."""

    def __init__(self, name: str, operation: str, reason: str) -> None:
        super().__init__(f"{name} cannot have the operation {operation}: {reason}.")


class NotInContext(TidegateError):
    """A value of the context that nothing has produced."""

    def __init__(self, key: str, known: Sequence[str]) -> None:
        super().__init__(f"The context has no {quoted(key)}. It has: {', '.join(known) or 'nothing'}.")


class ProviderChanged(ClusterRefused):
    """A cluster whose declaration names another provider than the one that made it."""

    def __init__(self, name: str, before: str, after: str) -> None:
        super().__init__(
            f"{name} was made by the provider {before}, and {after} cannot change it. Declare {before} again, or "
            "delete the cluster first."
        )

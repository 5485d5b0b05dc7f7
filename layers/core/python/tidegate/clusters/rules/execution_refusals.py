"""Refusals of cluster workflows. State machines know them by the names of their classes."""

from __future__ import annotations

from tidegate.rules.errors import TidegateError, quoted


class NoCluster(TidegateError):
    """A cluster without a record."""

    def __init__(self, repository: str, name: str) -> None:
        super().__init__(
            f"{repository} has no cluster {quoted(name)} that Tidegate has ever worked on. Declare it under clusters "
            "in tidegate.yaml, and merge that."
        )


class ClusterPlanAltered(TidegateError):
    """A stored plan is not the reviewed one."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} is not the plan that was made and reviewed. Nothing was done. Plan again.")


class ClusterLocked(TidegateError):
    """Another execution works on the cluster."""


class ClusterBusy(TidegateError):
    """A related cluster is being worked on: its management cluster, or one of its workload clusters."""


class MachineChanged(TidegateError):
    """The installation's hooks, or the tasks, have changed since the plan was made."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The tasks of {name}'s workflow, or the installation's hooks at them, have changed since it was planned. "
            "Nothing was done. Deploy it again, which makes a new plan."
        )


class ResourcesHeld(TidegateError):
    """A failed workflow still holds something, and this plan is another one."""


class WorkloadsLeft(TidegateError):
    """A management cluster that still has workload clusters is not deleted."""


class StaleFence(TidegateError):
    """An execution that no longer has the cluster's lock."""


class NotItsTurn(TidegateError):
    """A task or hook that the workflow does not run, or not any more."""


class MissingValue(TidegateError):
    """A task needs a value that none has produced."""


class UnexpectedValue(TidegateError):
    """A task has produced values that it may not, or too large ones."""


class FunctionNotListed(TidegateError):
    """A hook calls a function that the installation does not list."""

    def __init__(self, function: str) -> None:
        super().__init__(
            f"The function {function!r} may not be called: cluster_hooks in the installation's cdk.json does not list "
            "it. Ask the operators of Tidegate to add it, or use a command."
        )

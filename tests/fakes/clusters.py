"""The records of clusters, and executions of their workflows, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegate.clusters.rules.record import Checkpoint, ClusterRecord
from tidegate.rules.errors import Conflict


class MemoryClusters:
    """The port ``ClusterStore``."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], ClusterRecord] = {}
        self._values: dict[tuple[str, str, str], dict[str, str]] = {}
        self._checkpoints: dict[tuple[str, str, str], Checkpoint] = {}

    def cluster(self, repository: str, name: str) -> ClusterRecord | None:
        return self._records.get((repository, name))

    def clusters(self, repository: str) -> Sequence[ClusterRecord]:
        return [self._records[key] for key in sorted(self._records) if key[0] == repository]

    def save(self, *records: ClusterRecord) -> Sequence[ClusterRecord]:
        for each in records:
            known = self.cluster(each.repository, each.name)
            if each.version != (known.version if known else 0):
                raise Conflict(f"the cluster {each.name}")
        saved = [replace(each, version=each.version + 1) for each in records]
        self._records.update({(each.repository, each.name): each for each in saved})
        return saved

    def context(self, repository: str, name: str, deployment: str) -> Mapping[str, str]:
        return dict(self._values.get((repository, name, deployment), {}))

    def keep_values(self, repository: str, name: str, deployment: str, values: Mapping[str, str]) -> None:
        self._values.setdefault((repository, name, deployment), {}).update(values)

    def checkpoint(self, repository: str, name: str, key: str) -> Checkpoint | None:
        return self._checkpoints.get((repository, name, key))

    def keep_checkpoint(self, repository: str, name: str, key: str, checkpoint: Checkpoint) -> None:
        self._checkpoints[repository, name, key] = checkpoint

    def drop_checkpoints(self, repository: str, name: str, keys: Collection[str]) -> None:
        for key in keys:
            self._checkpoints.pop((repository, name, key), None)


@dataclass
class MemoryClusterWorkflows:
    """The port ``ClusterWorkflows``: what handles errors, as it was started, and the executions that run."""

    errors: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    running: set[tuple[str, str]] = field(default_factory=set)

    def start_error(self, execution: str, deployment: str, of: str, error: str, cause: str) -> None:
        given = (execution, deployment, of, error, cause)
        if given not in self.errors:
            self.errors.append(given)

    def is_running(self, machine: str, execution: str) -> bool:
        return (machine, execution) in self.running

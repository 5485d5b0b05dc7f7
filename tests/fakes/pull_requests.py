"""The records of pull requests, their temporary layers, and what their checks were asked to show, in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.errors import Conflict, NotFound
from tidegate.rules.timestamp import LONG_AGO


class MemoryPullRequests:
    """The port ``PullRequests``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[tuple[str, int], PullRequestRecord] = {}

    def get(self, repository: str, number: int) -> PullRequestRecord:
        with self._lock:
            if (repository, number) not in self._records:
                raise NotFound("pull request", f"{repository}#{number}")
            return self._records[repository, number]

    def save(self, record: PullRequestRecord) -> PullRequestRecord:
        key = record.spec.repository, record.spec.number
        with self._lock:
            stored = self._records.get(key)
            if (stored.version if stored else 0) != record.version:
                raise Conflict(f"The pull request {record.spec.id}")
            self._records[key] = replace(record, version=record.version + 1)
            return self._records[key]

    def opened(self) -> Iterable[tuple[str, int]]:
        with self._lock:
            found = [record for record in self._records.values() if record.is_open]
        found.sort(key=lambda record: (record.opened_at or LONG_AGO, record.spec.id))
        return [(record.spec.repository, record.spec.number) for record in found]

    def newest(self) -> Sequence[tuple[datetime, str, int]]:
        with self._lock:
            found = [record for record in self._records.values() if record.is_open]
        named = ((each.opened_at or LONG_AGO, each.spec.repository, each.spec.number) for each in found)
        return sorted(named, reverse=True)

    def deploying(self) -> Iterable[tuple[str, int]]:
        with self._lock:
            found = [record.spec for record in self._records.values() if record.is_deploying]
        return sorted((spec.repository, spec.number) for spec in found)

    def many(self, pull_requests: Collection[tuple[str, int]]) -> Sequence[PullRequestRecord]:
        with self._lock:
            return [self._records[key] for key in sorted(set(pull_requests)) if key in self._records]


class MemorySpeculativePlans:
    """The port ``SpeculativePlans``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._layers: dict[str, SpeculativePlan] = {}

    def create(self, layers: Sequence[SpeculativePlan]) -> None:
        with self._lock:
            for layer in layers:
                self._layers.setdefault(layer.id, layer)

    def get(self, layer: str) -> SpeculativePlan:
        with self._lock:
            if layer not in self._layers:
                raise NotFound("layer", layer)
            return self._layers[layer]

    def save(self, layer: SpeculativePlan) -> SpeculativePlan:
        with self._lock:
            stored = self._layers.get(layer.id)
            if stored is None or stored.version != layer.version:
                raise Conflict(f"The layer {layer.id}")
            self._layers[layer.id] = replace(layer, version=layer.version + 1)
            return self._layers[layer.id]

    def many(self, layers: Collection[str]) -> Sequence[SpeculativePlan]:
        with self._lock:
            found = [self._layers[name] for name in set(layers) if name in self._layers]
        return sorted(found, key=lambda layer: (layer.stack, layer.root.name, layer.id))

    def remove(self, layers: Collection[str]) -> None:
        with self._lock:
            for name in layers:
                self._layers.pop(name, None)

"""What a task or hook works with: its order, the reviewed plan, the checkout, the clusters, and the bucket."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from runner.clusters.api import Api
from runner.clusters.bucket import Bucket
from runner.clusters.connections import Connections
from runner.faults import TaskFailed
from runner.job import Place, Tools
from runner.steps import REPORT_SECONDS
from runner.workspace import place_in
from tidegate.clusters.rules.context import CONTEXTS, OWN_KEYS, ClusterReference, Context, Key, reference_from
from tidegate.clusters.rules.order import TaskOrder
from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook, Step
from tidegate.deploys.rules.job import Job

#: Seconds between two looks at what must become ready.
_PAUSE = 2.0


@dataclass
class Work:
    """One task or hook. ``spec`` is the cluster's file, parsed; ``hook`` None for a task.

    ``pause`` waits for seconds. ``found`` and ``warnings`` are those of the result.
    """

    tools: Tools
    job: Job
    place: Place
    order: TaskOrder
    plan: ClusterPlan
    spec: Mapping[str, Any]
    hook: PlannedHook | None = None
    pause: Callable[[float], None] = time.sleep
    warnings: list[str] = field(default_factory=list)
    found: bool = False

    @cached_property
    def context(self) -> Context:
        return CONTEXTS[self.plan.workflow](dict(self.order.values))

    @cached_property
    def connections(self) -> Connections:
        return Connections(self.tools, self.job.repository, self.place.environ)

    @cached_property
    def bucket(self) -> Bucket:
        return Bucket(self.tools, f"clusters/{self.job.repository}/{self.name}")

    @property
    def step(self) -> Step:
        """The task's step in the plan, for a task of its workflow."""
        return next(each for each in self.plan.steps if each.task == self.order.task)

    @property
    def name(self) -> str:
        return self.order.cluster.name

    @property
    def own_key(self) -> Key:
        """The key of the cluster that the workflow is about."""
        return OWN_KEYS[self.order.cluster.kind]

    @property
    def options(self) -> Mapping[str, Any]:
        """What the cluster's file says under ``provider``."""
        said = self.spec.get("provider")
        return said if isinstance(said, Mapping) else {}

    @property
    def seconds_left(self) -> float:
        return self.tools.begun + self.job.seconds - REPORT_SECONDS - time.monotonic()

    def find(self, effect: str) -> None:
        """Tell that there was nothing to do: the effect was there before."""
        self.say(f"nothing to do: {effect}")
        self.found = True

    def say(self, text: str) -> None:
        self.tools.log.say(text)

    def warn(self, text: str) -> None:
        """Tell people, in the log and in the result."""
        self.say(text)
        self.warnings.append(self.tools.log.masker.mask(text)[:1000])

    def until(self, ready: Callable[[], str], what: str, seconds: float) -> None:
        """Wait until nothing is in the way. ``ready`` returns what is. Raise TaskFailed at the time limit."""
        end = time.monotonic() + min(seconds, self.seconds_left)
        told = ""
        while why := ready():
            self.tools.interruption.check()
            if why != told:
                self.say(f"waiting for {what}: {why}")
                told = why
            if time.monotonic() > end:
                raise TaskFailed(f"{what} is not ready after {seconds:.0f} s: {why}.")
            self.pause(_PAUSE)

    def reference(self, key: Key) -> ClusterReference | None:
        """Return how to reach a cluster, None if no task has said so."""
        return reference_from(self.context.text(key)) if self.context.has(key) else None

    def api(self, reference: ClusterReference) -> Api:
        """Return a cluster's API server. Raise TaskFailed for one that has none."""
        return self.connections.api(reference)

    def path(self, text: str) -> Path:
        """Return a file or directory of the commit. Raise TaskFailed if it is none."""
        found = place_in(self.tools.source, self.tools.source / text)
        if found is None or not found.exists():
            raise TaskFailed(f"{text!r} is not in this commit. Correct the path in tidegate.yaml, or add it.")
        return found

"""The rest of the scenario in memory: a clock, executions and tokens, topics and buckets.

What tests set and read is public: ``workflows.starts``, ``audit.unavailable`` …
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.instants import utc
from tidegate.deploys.rules.audit import AuditMessage
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Lock
from tidegate.deploys.rules.runner_task import RunnerTask
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.ports import Delivery, ObjectStart
from tidegate.rules.errors import AuditUnavailable, CloudUnavailable, NotFound, TooLate

_START = utc("2026-03-02T09:00")


@dataclass(slots=True)
class MemoryClock:
    """The port ``Clock``: a clock that goes a microsecond further at each look, or as far as it is told."""

    at: datetime = _START

    def now(self) -> datetime:
        self.advance(0.000001)
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@dataclass(slots=True)
class MemoryPlanFunctions:
    """The port ``PlanFunctions``: remembers what was started."""

    started: list[tuple[str, str, str, str]] = field(default_factory=list)

    def start(self, function: str, job: str, digest: str, token: str) -> None:
        self.started.append((function, job, digest, token))


@dataclass(slots=True)
class MemoryWorkflows:
    """The port ``Workflows``.

    ``starts`` holds each accepted start (execution name, queue), ``endings`` how those of them that do
    not run any more ended (execution name: status); ``planned`` the starts for pull requests (execution name:
    pull request, revision), which ``endings`` has as well; ``waiting`` the tokens that somebody
    waits for, ``settled`` and ``failed`` the answers. ``refusals`` makes as many of the next calls
    fail as AWS does when it throttles.
    """

    starts: list[tuple[str, str]] = field(default_factory=list)
    endings: dict[str, str] = field(default_factory=dict)
    planned: dict[str, tuple[str, str]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    settled: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    failed: dict[str, tuple[str, str]] = field(default_factory=dict)
    refusals: int = 0

    def start_deploy(self, execution: str, queue: str) -> None:
        self._refuse()
        if (execution, queue) not in self.starts:
            self.starts.append((execution, queue))

    def ending(self, execution: str) -> str | None:
        self._refuse()
        if execution not in dict(self.starts):
            raise NotFound("execution", execution)
        return self.endings.get(execution)

    def start_pull_request(self, execution: str, pull_request: str, revision: str) -> None:
        self._refuse()
        self.planned.setdefault(execution, (pull_request, revision))

    def stop_pull_request(self, execution: str, cause: str) -> None:
        self._refuse()
        if execution in self.planned:
            self.endings.setdefault(execution, "ABORTED")

    def pull_request_ending(self, execution: str) -> str | None:
        self._refuse()
        if execution not in self.planned:
            raise NotFound("execution", execution)
        return self.endings.get(execution)

    def settle(self, token: str, output: Mapping[str, Any]) -> None:
        self._answer(token)
        self.settled[token] = output

    def fail(self, token: str, error: str, cause: str) -> None:
        self._answer(token)
        self.failed[token] = (error, cause)

    def _answer(self, token: str) -> None:
        self._refuse()
        if token not in self.waiting:
            raise TooLate
        self.waiting.remove(token)

    def _refuse(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise CloudUnavailable("Step Functions", "ThrottlingException")


@dataclass(slots=True)
class MemoryRunners:
    """The port ``Runners``: ``tasks`` run, ``stopped`` were stopped, each with the reason. ``refusals`` as above."""

    tasks: list[RunnerTask] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)
    refusals: int = 0

    def running(self) -> list[RunnerTask]:
        return [task for task in self.tasks if task.arn not in self.stopped]

    def stop(self, task: str, reason: str) -> None:
        if self.refusals:
            self.refusals -= 1
            raise CloudUnavailable("ECS", "ThrottlingException")
        self.stopped.setdefault(task, reason)


@dataclass(slots=True)
class MemoryEventPublisher:
    """The port ``EventPublisher``: what was announced, in order."""

    announced: list[Deployment] = field(default_factory=list)
    refreshed: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    later: list[tuple[str, int]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    progressed: list[str] = field(default_factory=list)
    repeats: list[tuple[str, str]] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    layers: list[SpeculativePlan] = field(default_factory=list)
    ended: list[tuple[str, str, str, str]] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)
    deployed: list[str] = field(default_factory=list)
    freed: int = 0
    news: list[tuple[str, str]] = field(default_factory=list)
    notices: list[tuple[str, str, str]] = field(default_factory=list)
    stacks: list[str] = field(default_factory=list)
    expiring: list[str] = field(default_factory=list)
    locks: list[tuple[str, str, Lock, Sequence[str]]] = field(default_factory=list)

    def review_expires_soon(self, deployment: Deployment) -> None:
        self.expiring.append(deployment.id)

    def locked(self, repository: str, root: str, lock: Lock, stacks: Sequence[str] = ()) -> None:
        self.locks.append((repository, root, lock, stacks))

    def changed(self, deployment: Deployment) -> None:
        self.announced.append(deployment)

    def refresh(self, deployment: str) -> None:
        self.refreshed.append(deployment)

    def position_changed(self, deployment: str) -> None:
        self.places.append(deployment)

    def progress_changed(self, deployment: str) -> None:
        self.progressed.append(deployment)

    def repeated(self, deployment: str, by: str) -> None:
        self.repeats.append((deployment, by))

    def answered(self, deployment: str, why: str) -> None:
        self.answers.append((deployment, why))

    def queue_changed(self, queue: str) -> None:
        self.lines.append(queue)

    def queue_changed_later(self, queue: str, seconds: int) -> None:
        self.later.append((queue, seconds))

    def change_moved(self, change_set: str) -> None:
        self.moved.append(change_set)

    def stacks_moved(self, repository: str) -> None:
        self.stacks.append(repository)

    def slots_freed(self) -> None:
        self.freed += 1

    def layer_changed(self, layer: SpeculativePlan) -> None:
        self.layers.append(layer)

    def pull_request_applied(self, pull_request: str) -> None:
        self.applied.append(pull_request)

    def pull_request_deployed(self, pull_request: str) -> None:
        self.deployed.append(pull_request)

    def pull_request_ended(self, pull_request: str, revision: str, error: str = "", cause: str = "") -> None:
        self.ended.append((pull_request, revision, error, cause))

    def entry_changed(self, repository: str, entry: str) -> None:
        self.news.append((repository, entry))

    def entry_refused(self, repository: str, entry: str, notice: str) -> None:
        self.notices.append((repository, entry, notice))


@dataclass(slots=True)
class MemoryAuditLog:
    """The port ``AuditLog``: what was published, in order; the same event again is not. ``unavailable`` refuses."""

    published: list[AuditMessage] = field(default_factory=list)
    unavailable: bool = False

    def publish(self, message: AuditMessage) -> None:
        if self.unavailable:
            raise AuditUnavailable("the topic does not answer")
        if message.event not in self.events:
            self.published.append(message)

    @property
    def events(self) -> list[str]:
        return [message.event for message in self.published]

    @property
    def states(self) -> list[str]:
        return [message.state for message in self.published]


@dataclass(slots=True)
class MemoryArtifacts:
    """The port ``Artifacts``."""

    objects: dict[str, bytes] = field(default_factory=dict)

    def get(self, key: str) -> bytes:
        if key not in self.objects:
            raise NotFound("object", key)
        return self.objects[key]

    def get_start(self, key: str, size: int) -> ObjectStart:
        content = self.get(key)
        return ObjectStart(content[:size], len(content), hashlib.sha256(content).hexdigest())

    def put(self, key: str, content: bytes) -> None:
        self.objects[key] = content

    def remove(self, keys: Collection[str]) -> None:
        for key in keys:
            self.objects.pop(key, None)


@dataclass(slots=True)
class MemoryEventQueue:
    """The port ``EventQueue``: what was sent, in order. ``refusals`` makes as many of the next calls fail."""

    sent: list[Delivery] = field(default_factory=list)
    refusals: int = 0

    def send(self, delivery: Delivery) -> None:
        if self.refusals:
            self.refusals -= 1
            raise CloudUnavailable("SQS", "RequestThrottled")
        self.sent.append(delivery)

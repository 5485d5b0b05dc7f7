"""The stores in memory. Each operation is one step for other threads, as it is in the table."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.deploys.rules.attention import Attention, attention_of, attention_of_locks
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.freeze import FreezeWindows
from tidegate.deploys.rules.issued import NOTHING, Issued
from tidegate.deploys.rules.job import Job, TakenJob
from tidegate.deploys.rules.needs import Activity, activity
from tidegate.deploys.rules.plan_runner import Limit, OnFargate
from tidegate.deploys.rules.queue import QueueHead, Waiting, order, waiting_for
from tidegate.deploys.rules.repository_locks import RepositoryLocks, own, under
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import is_final
from tidegate.ports import Delivery, DeliveryOutcome, LogChunk, PublishedCheckRun
from tidegate.rules.errors import ApplyAlreadyStarted, Conflict, NotFound


class MemoryDeployments:
    """The port ``Deployments``. ``lock`` is shared with the queues, whose transactions include deployments."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._records: dict[str, Deployment] = {}
        self._tokens: dict[str, tuple[str, str, str]] = {}
        self._gate_tokens: dict[str, tuple[str, str, str]] = {}
        self._unshown: set[str] = set()

    def add(self, deployment: Deployment) -> bool:
        """Store a new record. Return False, and change nothing, when there is one with this id."""
        with self.lock:
            is_new = deployment.id not in self._records
            if is_new:
                self._records[deployment.id] = deployment
                self._unshown.add(deployment.id)
            return is_new

    def all(self) -> Sequence[Deployment]:
        """Return all records."""
        with self.lock:
            return list(self._records.values())

    def get(self, deployment: str) -> Deployment:
        with self.lock:
            if deployment not in self._records:
                raise NotFound("deployment", deployment)
            return self._records[deployment]

    def save(self, deployment: Deployment) -> Deployment:
        with self.lock:
            self.check(deployment)
            saved = replace(deployment, version=deployment.version + 1)
            self._records[deployment.id] = saved
            return saved

    def many(self, deployments: Collection[str]) -> Mapping[str, Deployment]:
        with self.lock:
            return {wanted: self._records[wanted] for wanted in deployments if wanted in self._records}

    def unshown(self) -> Iterable[str]:
        with self.lock:
            return sorted(self._unshown)

    def doing(self, does: Activity, limit: int) -> Sequence[str]:
        with self.lock:
            records = [each for each in self._records.values() if not is_final(each.state)]
            oldest = sorted(records, key=lambda each: (each.request.at, each.id))
            return [each.id for each in oldest if activity(each.state) is does][:limit]

    def shown(self, deployment: str) -> None:
        with self.lock:
            self._unshown.discard(deployment)

    def check(self, deployment: Deployment) -> None:
        """Raise Conflict unless ``save`` would store this."""
        stored = self._records.get(deployment.id)
        if stored is None or stored.version != deployment.version:
            raise Conflict(f"The deployment {deployment.id}")

    def keep_review_token(self, deployment: str, review: str, token: str, attempt: str = "") -> bool:
        return self._keep_token(self._tokens, deployment, (review, token, attempt))

    def _keep_token(self, tokens: dict[str, tuple[str, str, str]], deployment: str, new: tuple[str, str, str]) -> bool:
        with self.lock:
            if deployment in tokens and tokens[deployment][2] > new[2]:
                return False
            tokens[deployment] = new
            return True

    def review_token(self, deployment: str, review: str) -> str:
        with self.lock:
            kept, token, _ = self._tokens.get(deployment, ("", "", ""))
            if kept != review:
                raise NotFound("review", review)
            return token

    def keep_gate_token(self, deployment: str, gate: str, token: str, attempt: str = "") -> bool:
        return self._keep_token(self._gate_tokens, deployment, (gate, token, attempt))

    def gate_token(self, deployment: str, gate: str) -> str:
        with self.lock:
            kept, token, _ = self._gate_tokens.get(deployment, ("", "", ""))
            if kept != gate:
                raise NotFound("gate", gate)
            return token


class MemoryDeployQueues:
    """The port ``DeployQueues``."""

    def __init__(self, deployments: MemoryDeployments) -> None:
        self._deployments = deployments
        self._heads: dict[str, QueueHead] = {}
        self._lines: dict[str, list[Waiting]] = {}
        self._locks: dict[str, RepositoryLocks] = {}
        self._freezes: dict[str, FreezeWindows] = {}

    def enqueue(self, deployment: Deployment, seen: QueueHead | None = None) -> bool:
        with self._deployments.lock:
            head = self._head(deployment.queue)
            if deployment.id in self._deployments.many([deployment.id]):
                return False
            if seen is not None and seen.version != head.version:
                raise Conflict(f"The queue {deployment.queue}")
            self._deployments.add(deployment)
            line = self._lines.setdefault(deployment.queue, [])
            line.append(waiting_for(deployment))
            self._heads[deployment.queue] = replace(head, version=head.version + 1, length=len(line))
            return True

    def read(self, queue: str) -> tuple[QueueHead, Waiting | None]:
        with self._deployments.lock:
            first = next(iter(self.waiting(queue)), None)
            return self._under(queue, first), first

    def read_with(self, queue: str, deployment: str) -> tuple[QueueHead, Deployment]:
        with self._deployments.lock:
            return self._head(queue), self._deployments.get(deployment)

    def line(self, queue: str) -> tuple[QueueHead, Sequence[Waiting]]:
        with self._deployments.lock:
            line = self.waiting(queue)
            return self._under(queue, next(iter(line), None)), line

    def many(self, queues: Collection[str]) -> Mapping[str, QueueHead]:
        with self._deployments.lock:
            return {queue: self._heads[queue] for queue in queues if queue in self._heads}

    def waiting(self, queue: str) -> Sequence[Waiting]:
        with self._deployments.lock:
            return sorted(self._lines.get(queue, []), key=order)

    def commit(
        self,
        before: QueueHead,
        after: QueueHead,
        *,
        take: Waiting | None = None,
        put_back: Waiting | None = None,
        deployment: Deployment | None = None,
    ) -> QueueHead:
        with self._deployments.lock:
            line = self._lines.setdefault(before.queue, [])
            if self._head(before.queue).version != before.version or (take and take not in line):
                raise Conflict(f"The queue {before.queue}")
            if put_back and put_back in line:
                raise Conflict(f"The queue {before.queue}")
            if deployment:
                self._deployments.save(deployment)
            line = [waiting for waiting in line if waiting != take] + ([put_back] if put_back else [])
            self._lines[before.queue] = line
            self._heads[before.queue] = replace(own(after), version=before.version + 1, length=len(line))
            return self._heads[before.queue]

    def heads(self) -> Sequence[QueueHead]:
        """Return all heads."""
        with self._deployments.lock:
            return list(self._heads.values())

    def unfinished(self) -> Iterable[str]:
        with self._deployments.lock:
            return [
                queue
                for queue, head in self._heads.items()
                if head.length or head.in_flight or (head.lock and head.lock.expires_at)
            ]

    def attention(self, limit: int) -> Sequence[Attention]:
        with self._deployments.lock:
            found = [
                *(attention_of(head) for head in self._heads.values()),
                *(attention_of_locks(locks) for locks in self._locks.values()),
            ]
            return sorted((each for each in found if each), key=lambda each: each.queue)[:limit]

    def locks(self, repository: str) -> RepositoryLocks:
        with self._deployments.lock:
            return self._locks.get(repository) or RepositoryLocks(repository)

    def keep_locks(self, locks: RepositoryLocks) -> RepositoryLocks:
        with self._deployments.lock:
            if self.locks(locks.repository).version != locks.version:
                raise Conflict(f"The locks of {locks.repository}")
            self._locks[locks.repository] = replace(locks, version=locks.version + 1)
            return self._locks[locks.repository]

    def freezes(self, repository: str) -> FreezeWindows:
        return self._freezes.get(repository) or FreezeWindows(repository)

    def keep_freezes(self, freezes: FreezeWindows) -> None:
        self._freezes[freezes.repository] = freezes

    def expiring(self) -> Iterable[str]:
        with self._deployments.lock:
            return sorted(each.repository for each in self._locks.values() if each.expires)

    def _under(self, queue: str, first: Waiting | None) -> QueueHead:
        head = self._head(queue)
        manual = first is not None and first.trigger is Trigger.MANUAL
        return head if manual else under(head, first, self.locks(head.home))

    def _head(self, queue: str) -> QueueHead:
        return self._heads.get(queue) or QueueHead(queue)


class MemoryCheckRuns:
    """The port ``CheckRuns``."""

    def __init__(self) -> None:
        self._published: dict[str, PublishedCheckRun] = {}

    def published(self, deployment: str) -> PublishedCheckRun | None:
        return self._published.get(deployment)

    def remember(self, published: PublishedCheckRun) -> None:
        self._published[published.deployment] = published

    def many(self, deployments: Collection[str]) -> Mapping[str, PublishedCheckRun]:
        return {wanted: self._published[wanted] for wanted in deployments if wanted in self._published}


@dataclass(slots=True)
class _JobRecord:
    job: Job | None = None
    token: str | None = None
    clone_token: str = ""
    identity: Issued = NOTHING
    runner: str | None = None
    closed: bool = False
    limit: Limit | None = None
    stopped: bool = False


class MemoryJobs:
    """The port ``Jobs``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[str, _JobRecord] = {}

    def create(self, job: Job) -> None:
        with self._lock:
            if self._records.setdefault(job.id, _JobRecord(job)).job != job:
                raise Conflict(f"The job {job.id}")

    def get(self, job: str) -> Job:
        with self._lock:
            return self._get(job)[1]

    def existing(self, jobs: Collection[str]) -> set[str]:
        with self._lock:
            return {job for job in jobs if job in self._records and self._records[job].job is not None}

    def hand_over(self, job: str, token: str, clone_token: str, identity: Issued = NOTHING) -> bool:
        with self._lock:
            record, _ = self._get(job)
            if record.runner is not None or record.closed:
                return False
            record.token, record.clone_token, record.identity = token, clone_token, identity
            return True

    def take(self, job: str, runner: str) -> TakenJob | None:
        with self._lock:
            record, found = self._get(job)
            if record.closed or record.runner not in {None, runner}:
                raise ApplyAlreadyStarted(found.deployment)
            if record.token is None:
                return None
            clone_token, record.clone_token, record.runner = record.clone_token, "", runner
            identity, record.identity = record.identity, NOTHING
            return TakenJob(found, record.token, clone_token, identity)

    def token(self, job: str) -> str | None:
        with self._lock:
            return self._records.get(job, _JobRecord()).token

    def runner(self, job: str) -> str | None:
        with self._lock:
            return self._records.get(job, _JobRecord()).runner

    def token_of(self, job: str, runner: str) -> str | None:
        with self._lock:
            record = self._records.get(job, _JobRecord())
            return record.token if record.runner == runner else None

    def report_stopped(self, job: str, runner: str) -> None:
        with self._lock:
            record = self._records.get(job, _JobRecord())
            record.stopped = record.stopped or record.runner == runner

    def at_large(self, job: str) -> str | None:
        with self._lock:
            record = self._records.get(job, _JobRecord())
            return None if record.stopped else record.runner

    def close(self, job: str) -> bool:
        with self._lock:
            record = self._records.setdefault(job, _JobRecord())
            record.closed = True
            return record.runner is not None

    def report_limit(self, job: str, limit: Limit) -> None:
        with self._lock:
            self._records.setdefault(job, _JobRecord()).limit = limit

    def limit(self, job: str) -> Limit | None:
        with self._lock:
            return self._records.get(job, _JobRecord()).limit

    def _get(self, job: str) -> tuple[_JobRecord, Job]:
        record = self._records.get(job)
        if record is None or record.job is None:
            raise NotFound("job", job)
        return record, record.job


class MemoryPlanRunners:
    """The port ``PlanRunners``."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], OnFargate] = {}

    def keep(self, queue: str, why: OnFargate) -> None:
        self._kept[queue, why.form] = why

    def kept(self, queue: str, form: str) -> OnFargate | None:
        return self._kept.get((queue, form))


class MemoryJobLogs:
    """The port ``JobLogs``. Nothing expires here."""

    def __init__(self) -> None:
        self._chunks: dict[str, dict[int, LogChunk]] = {}

    def append(self, job: str, chunk: LogChunk) -> None:
        self._chunks.setdefault(job, {})[chunk.position] = chunk

    def read(self, job: str, position: int, limit: int | None = None) -> Sequence[LogChunk]:
        return [chunk for at, chunk in sorted(self._chunks.get(job, {}).items()) if at >= position][:limit]

    def last_before(self, job: str, position: int) -> LogChunk | None:
        chunks = self._chunks.get(job, {})
        return chunks[max(before)] if (before := [at for at in chunks if at < position]) else None


class MemoryDeliveries:
    """The port ``Deliveries``. ``outcomes`` tells what became of deliveries."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stored: dict[str, Delivery] = {}
        self._queued: set[str] = set()
        self._open_since: dict[str, datetime] = {}
        self.outcomes: dict[str, str] = {}
        self._deployments: dict[str, tuple[str, ...]] = {}
        self._commits: dict[str, str] = {}
        self._turns: dict[str, str] = {}

    def store(self, delivery: Delivery) -> bool:
        with self._lock:
            is_new = delivery.id not in self._stored
            self._stored.setdefault(delivery.id, delivery)
            self._open_since.setdefault(delivery.id, delivery.received_at)
            return is_new

    def get(self, delivery: str) -> Delivery:
        if delivery not in self._stored:
            raise NotFound("delivery", delivery)
        return self._stored[delivery]

    def is_queued(self, delivery: str) -> bool:
        return self.get(delivery).id in self._queued

    def take_over(self, delivery: str, now: datetime, before: datetime) -> Delivery | None:
        with self._lock:
            if delivery in self._queued or self._open_since.get(delivery, before) >= before:
                return None
            self._open_since[delivery] = now
            return self._stored[delivery]

    def mark_queued(self, delivery: str) -> None:
        self._queued.add(self.get(delivery).id)

    def unqueued(self, before: datetime) -> Iterable[Delivery]:
        return [
            delivery
            for delivery in self._stored.values()
            if delivery.id not in self._queued and self._open_since[delivery.id] < before
        ]

    def conclude(self, delivery: str, outcome: str, deployments: Sequence[str] = ()) -> None:
        self.outcomes[self.get(delivery).id] = outcome
        self._deployments[delivery] = tuple(deployments)

    def outcome(self, delivery: str) -> DeliveryOutcome | None:
        if self.get(delivery).id not in self.outcomes:
            return None
        return DeliveryOutcome(self.outcomes[delivery], self._deployments[delivery])

    def bind(self, delivery: str, commit: str) -> str:
        with self._lock:
            return self._commits.setdefault(self.get(delivery).id, commit)

    def claim(self, turn: str, delivery: str) -> bool:
        with self._lock:
            return self._turns.setdefault(turn, delivery) == delivery

"""The deploy queue of one root: its content, what may be claimed, when its worker may end.

The queue's head is one item with a version. Every accepted change raises the version, and a worker waits or closes only
at the version on which it decided. So no wake-up is lost (design rule 3), and at most one deployment is in flight (rule
1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import DONE, State, moves_baseline
from tidegate.roots.rules.root import QUEUE_SEPARATOR, Revision, worker_name
from tidegate.rules.actor import TIDEGATE

#: Rounds (claims) after which a worker continues as new, and the highest configurable number. A round with all retries
#: takes some 170 of the 25,000 events that Step Functions allows.
ROUNDS_PER_EXECUTION = 100
#: Age at which a worker continues as new: Step Functions ends an execution after a year, and a started round takes
#: three months at most.
EXECUTION_AGE = timedelta(days=180)


@dataclass(frozen=True, slots=True)
class Lock:
    """Why merges wait: who locked the queue, when, for which revision, and the reason.

    ``deployment`` is the one that locked it. ``unlocking`` is who takes it away, once that is decided and
    until the audit topic knows. ``before`` is the lock that a manual deployment found and took the place of:
    it comes back if that deployment changes nothing, and one by hand also when somebody unlocks. ``pull_request`` is
    the one that the locking deployment is of. After ``expires_at`` (None: never) the reconciler takes the lock away.
    ``scope`` is not empty for a lock that is not the queue's own, but of all queues of its repository or of a stack
    (``repository_locks``).
    """

    by: str
    at: datetime
    revision: str
    reason: str
    deployment: str = ""
    unlocking: Unlocking | None = None
    before: Lock | None = None
    pull_request: int | None = None
    expires_at: datetime | None = None
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Worker:
    """The deploy execution that owns the queue. ``started`` once it has claimed for the first time."""

    execution: str
    generation: int
    started: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued deployment. ``stacks`` are its stack and its parent stacks."""

    deployment: str
    trigger: Trigger
    revision: str
    requested_at: datetime
    reruns_manual: bool = False
    stacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Orphaned:
    """The root is gone from the default branch, but its resources are not: the commit that removed it, and when.

    ``resources`` is how many there were after the last deployment, None if unknown.
    """

    revision: str
    at: datetime
    resources: int | None = None


@dataclass(frozen=True, slots=True)
class Deployed:
    """The deployment with which later revisions are compared.

    ``destroyed`` tells that it destroyed the root's resources, ``orphaned`` that the root is gone, also after that.
    """

    deployment: str
    revision: Revision
    state: State
    trigger: Trigger
    destroyed: bool = False
    orphaned: Orphaned | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The status of a root in one of its stacks; QueueHead explains the fields."""

    stack: str
    deployed: Deployed | None = None
    attempted: Deployed | None = None
    undone: Deployed | None = None


@dataclass(frozen=True, slots=True)
class QueueHead:
    """The head of a root's queue.

    ``length`` is the number of deployments in the queue; stores keep it, so that a reader sees when the line that it
    read is older or newer than the head. ``token`` is the task token of a worker that waits for a signal; it stays
    until the worker's next claim, as settling it twice is harmless. ``last`` is the deployment that left ``in_flight``
    last: a call that comes again announces it again. ``deployed`` is what later revisions are compared with;
    ``attempted`` is the last deployment that was admitted and ended, however it ended: only its revision may be run
    again. ``undone`` is the newest one that was admitted and failed, while nothing that contains it is done.
    ``unlocked`` is the last unlocking. ``by_stack`` tells the same three for each stack of a root that is in several.
    ``dropped`` are the merges that ended before they were admitted, as one that was cancelled while queued, while
    nothing that contains them was applied (``dropped``).
    """

    queue: str
    version: int = 0
    length: int = 0
    generation: int = 0
    lock: Lock | None = None
    worker: Worker | None = None
    token: str | None = None
    in_flight: str | None = None
    last: str | None = None
    deployed: Deployed | None = None
    attempted: Deployed | None = None
    undone: Deployed | None = None
    unlocked: Unlocking | None = None
    by_stack: tuple[Standing, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def is_destroyed(self) -> bool:
        """Whether all that was deployed of the root is destroyed, in each of its stacks."""
        every = [each.deployed for each in self.by_stack] if self.by_stack else [self.deployed]
        deployed = [each for each in every if each is not None]
        return bool(deployed) and all(each.destroyed for each in deployed)

    @property
    def orphaned(self) -> Orphaned | None:
        """The orphaned root, if the root is gone and its resources are not."""
        return self.deployed.orphaned if self.deployed and not self.is_destroyed else None

    @property
    def home(self) -> str:
        """The repository of the queue's root."""
        return self.queue.partition(QUEUE_SEPARATOR)[0]

    @property
    def root_name(self) -> str:
        """The name of the queue's root."""
        return self.queue.partition(QUEUE_SEPARATOR)[2]


#: Endings without admission: such a deployment is no attempt.
NOT_LET_IN = frozenset({State.REFUSED, State.SUPERSEDED})


class Step(StrEnum):
    """What a worker does next. The values are the deploy machine's words."""

    DEPLOY = "deploy"
    WAIT = "wait"
    HAND_OVER = "hand over"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Worked:
    """An execution's work so far: earlier claims, and the time since its start."""

    rounds: int = 0
    age: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class NextStep:
    """A worker's next step and why."""

    step: Step
    reason: str
    take: Waiting | None = None


#: Manual deployments go first, then their re-runs: a merge that overtook a re-run would make it go backwards. Drift
#: reconciliation goes last, because a merge also reverts drift.
_RANKS = {Trigger.MANUAL: 0, Trigger.RERUN: 2, Trigger.MERGE: 3, Trigger.DRIFT: 4}
_RERUN_OF_MANUAL = 1


def order(waiting: Waiting) -> tuple[int, datetime, str]:
    """Sort key of the queue: manual, re-run, merge, drift; each first in, first out."""
    rank = _RERUN_OF_MANUAL if waiting.reruns_manual else _RANKS[waiting.trigger]
    return (rank, waiting.requested_at, waiting.deployment)


def is_held_back(waiting: Waiting, lock: Lock | None) -> bool:
    """Tell whether a lock blocks a deployment: merges, their re-runs, and drift reconciliation.

    Manual deployments and their re-runs continue, unless the lock is for an unknown outcome.
    """
    if lock is None or waiting.trigger is Trigger.MANUAL:
        return False
    return not waiting.reruns_manual or lock.by == TIDEGATE


def may_take(first: Waiting | None, lock: Lock | None) -> bool:
    """Tell whether the first deployment may be claimed."""
    return first is not None and not is_held_back(first, lock)


def next_worker(head: QueueHead) -> Worker:
    """Return the worker of the next generation, with a new execution name."""
    generation = head.generation + 1
    return Worker(worker_name(head.queue, generation), generation)


def works_here(head: QueueHead, execution: str) -> bool:
    """Tell whether ``execution`` is the queue's worker."""
    return head.worker is not None and head.worker.execution == execution


def locks_queue(deployment: Deployment, head: QueueHead) -> bool:
    """Tell whether this deployment put the queue's lock there."""
    return head.lock is not None and head.lock.deployment == deployment.id


def has_work(head: QueueHead, first: Waiting | None) -> bool:
    """Tell whether a worker has work, given the queue's first deployment."""
    return head.in_flight is not None or may_take(first, head.lock)


def next_step(
    head: QueueHead, first: Waiting | None, execution: str, worked: Worked, most_rounds: int = ROUNDS_PER_EXECUTION
) -> NextStep:
    """Decide the next step of the worker ``execution``, given the queue's first deployment.

    A worker that must continue as new does not wait either: each signal without a change is a round.
    """
    if not works_here(head, execution):
        return NextStep(Step.STOP, "Another execution works on this queue.")
    if head.in_flight is not None:
        return NextStep(Step.DEPLOY, "This deployment was already claimed and has not ended.")
    if worked.rounds >= most_rounds or worked.age >= EXECUTION_AGE:
        reason = f"This execution has worked for {worked.rounds} rounds and {worked.age.days} days."
        return NextStep(Step.HAND_OVER, reason)
    if not may_take(first, head.lock):
        reason = (
            "No deployment is queued." if first is None else "The queue is locked, and no manual deployment is queued."
        )
        return NextStep(Step.WAIT, reason)
    return NextStep(Step.DEPLOY, "It is first in the queue.", first)


def waiting_for(deployment: Deployment) -> Waiting:
    """Return the deployment's position in the queue."""
    revision, asked = deployment.revision.sha, deployment.request.at
    stacks = (deployment.stack, *deployment.within)
    return Waiting(deployment.id, deployment.request.trigger, revision, asked, deployment.rerun.manual, stacks)


def with_another(head: QueueHead, first: Waiting | None, deployment: Deployment) -> tuple[QueueHead, Waiting]:
    """Return the head and first deployment, given both before, once ``deployment`` is queued as well."""
    waiting = waiting_for(deployment)
    after = replace(head, version=head.version + 1, length=head.length + 1)
    return after, waiting if first is None else min(first, waiting, key=order)


def baseline_after(deployment: Deployment, before: Deployed | None) -> Deployed | None:
    """Return the baseline of later revisions once ``deployment`` has ended."""
    if not moves_baseline(deployment.state):
        return before
    after = _as_deployed(deployment)
    orphaned = before.orphaned if before else None
    stays = orphaned and (deployment.destroys_deployed or deployment.request.at < orphaned.at)
    return replace(after, orphaned=orphaned) if stays else after


def attempt_after(deployment: Deployment, before: Deployed | None) -> Deployed | None:
    """Return the latest attempt once ``deployment`` has ended: only admitted deployments count, however they ended."""
    return before if deployment.state in NOT_LET_IN else _as_deployed(deployment)


def not_applied_after(deployment: Deployment, before: Deployed | None) -> Deployed | None:
    """Return the newest attempt that is not applied once ``deployment`` has ended.

    A deployment that neither contains the earlier one nor was reviewed because of it leaves it unchanged.
    """
    was_let_in = deployment.state not in NOT_LET_IN or deployment.gate is not None
    takes_over = before is None or deployment.lineage.contains == before.deployment or deployment.lineage.look_twice
    if not (was_let_in and takes_over):
        return before
    return None if deployment.state in DONE else _as_deployed(deployment)


def status_of(head: QueueHead, deployment: Deployment) -> Standing:
    """Return the status of a deployment's root in the deployment's stack.

    While the root was in one stack only, just the whole queue's status is known.
    """
    own = next((each for each in head.by_stack if each.stack == deployment.stack), None)
    if own is not None:
        return own
    if deployment.shared and head.by_stack:
        return Standing(deployment.stack)
    return Standing(deployment.stack, head.deployed, head.attempted, head.undone)


def head_after(head: QueueHead, deployment: Deployment) -> QueueHead:
    """Return the head with the new baseline once ``deployment`` has ended."""
    others = tuple(each for each in head.by_stack if each.stack != deployment.stack)
    is_apart = deployment.shared or len(others) < len(head.by_stack)
    own = _stands(status_of(head, deployment), deployment)
    whole = _stands(Standing("", head.deployed, head.attempted, head.undone), deployment)
    return replace(
        head,
        deployed=whole.deployed,
        attempted=whole.attempted,
        undone=whole.undone,
        by_stack=(*others, own) if is_apart else others,
    )


def _stands(before: Standing, ended: Deployment) -> Standing:
    return Standing(
        before.stack,
        baseline_after(ended, before.deployed),
        attempt_after(ended, before.attempted),
        not_applied_after(ended, before.undone),
    )


def _as_deployed(deployment: Deployment) -> Deployed:
    destroyed = deployment.request.destroy is not None and deployment.state in DONE
    return Deployed(deployment.id, deployment.revision, deployment.state, deployment.request.trigger, destroyed)


def locks_when_let_in(deployment: Deployment) -> bool:
    """Tell whether a deployment locks its queue once it is admitted: a manual one, but not the resume of a cluster."""
    return deployment.request.trigger is Trigger.MANUAL and not deployment.request.resumes


def lock_when_let_in(deployment: Deployment, lock: Lock | None, at: datetime) -> Lock | None:
    """Return the queue's lock once ``deployment`` is admitted: a manual one locks, so that no merge silently reverts
    it. The resume of a cluster's workflow does not: it is of what is merged.
    """
    if not locks_when_let_in(deployment):
        return lock
    found = by_hand(lock) if lock is None or lock.unlocking else replace(lock, before=by_hand(lock.before))
    return Lock(
        deployment.request.by,
        at,
        deployment.revision.sha,
        _why_locked(deployment),
        deployment.id,
        before=found,
        pull_request=deployment.request.pull_request,
    )


def by_hand(lock: Lock | None) -> Lock | None:
    """Return the lock by hand: this one, or the one that it replaced."""
    while lock is not None and (lock.deployment or lock.unlocking):
        lock = lock.before
    return lock


def lock_after(unlocked: Lock, at: datetime) -> Lock | None:
    """Return the lock that remains after one was removed: a lock by hand that has not expired."""
    found = by_hand(unlocked.before)
    return None if found is None or (found.expires_at and found.expires_at <= at) else found


def _why_locked(deployment: Deployment) -> str:
    short = deployment.revision.short
    if deployment.request.destroy:
        return (
            "A manual destroy of this root is in progress. Merges wait until it ends, or until somebody "
            "unlocks the queue."
        )
    if deployment.request.base_sha:
        return (
            f"{short} of {deployment.revision.branch} is applied before its merge. Other merges wait until it is "
            "merged, or the queue is unlocked."
        )
    return f"{short} was deployed manually. Merges wait until somebody unlocks the queue."


def lock_at_end(deployment: Deployment, lock: Lock | None, at: datetime) -> Lock | None:
    """Return the queue's lock once ``deployment`` has ended.

    An unknown outcome locks until somebody has checked (design rule 5). The lock of a manual deployment without changes
    is removed, and the previous lock is restored; so is the lock of one that destroyed everything.
    """
    if deployment.state is State.OUTCOME_UNKNOWN:
        reason = "The outcome of the last apply is unknown. Inspect the state, then unlock the queue."
        return Lock(TIDEGATE, at, deployment.revision.sha, reason, deployment.id, before=by_hand(lock))
    is_its_own = lock is not None and lock.deployment == deployment.id
    destroyed = deployment.request.destroy is not None and deployment.state in DONE
    if lock is not None and is_its_own and (destroyed or not moves_baseline(deployment.state)):
        return lock.before
    return lock

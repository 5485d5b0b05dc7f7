"""Concurrency slots: the installation has a limit, and each runner needs one.

They are stored as the slots of a repository's plans (``plan_slots``), under a name that no repository has. Holders are
deployments while one of their jobs runs, and speculative plans while they are planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.plan_slots import Precedence, SlotUsage, in_order
from tidegate.deploys.rules.requirements_gate import waits
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.waiting import AfterGate

#: The name of the installation's slots; names of repositories all have a slash.
INSTALLATION = "*"
#: Waiting holders at most: with all holders, the item stays far below DynamoDB's 400 KB.
MOST_WAITING = 4_000
#: How long a job waits for a slot (the Terraform machine's TimeoutSeconds). With the six runners of a new account, a
#: job behind 300 others of five minutes each waits some four hours. Longer waits, as often as a deployment may have
#: them, would not fit into the year that an execution has.
SLOT_WAIT_HOURS = 12

_WITHOUT_RESULT = frozenset({State.OUTCOME_UNKNOWN, State.ENGINE_FAULT, State.CANCELLED})
_BEGINS = frozenset({AfterGate.PLAN, AfterGate.PLAN_AGAIN, AfterGate.APPLY})


@dataclass(frozen=True, slots=True)
class SlotWait:
    """What there is to say of who waits: since when, how many runners are busy, its position."""

    since: datetime
    busy: int
    limit: int
    position: int

    def __str__(self) -> str:
        """Return it as one sentence without its end. One that was just woken has no position any more."""
        if not self.position:
            return "A concurrency slot is free: the runner starts in a moment"
        return f"Waiting for a concurrency slot: {busy_words(self.busy, self.limit)}, position {self.position}"


def busy_words(busy: int, limit: int) -> str:
    """Return how many runners are busy. There may be more than the limit where it was lowered meanwhile."""
    return f"{busy} of {limit} runners are busy"


def needs_slot(deployment: Deployment) -> bool:
    """Tell whether a job of the deployment runs or begins next: only then may it keep a slot.

    For a queued deployment, its queue's head decides.
    """
    if is_final(deployment.state) or deployment.outcome.ending is not None:
        return False
    if deployment.state is State.PLANNING:
        return deployment.planned.plan is None
    if deployment.state in {State.GATED, State.BLOCKED}:
        return deployment.gate is not None and deployment.gate.next in _BEGINS
    if deployment.state is State.AWAITING_REQUIREMENTS:
        return not waits(deployment)
    return deployment.state is not State.AWAITING_REVIEW


def job_without_result(deployment: Deployment) -> str | None:
    """Return the job of a deployment that ended without that job's result: its runner may still run.

    Until its task has stopped, it uses the quota.
    """
    if deployment.state not in _WITHOUT_RESULT:
        return None
    return deployment.apply.job or (deployment.planned.job if deployment.planned.plan is None else None)


def precedence_of(deployment: Deployment) -> Precedence:
    """Return the precedence of a deployment that waits for a slot: an apply waits for one last."""
    return Precedence.APPLY if deployment.state is State.APPROVED else Precedence.PLAN


def may_wait(places: SlotUsage, holder: str) -> bool:
    """Tell whether one more may wait."""
    return holder in places.line or holder in places.held or len(places.line) < MOST_WAITING


def slot_wait(places: SlotUsage, holder: str, since: datetime, limit: int) -> SlotWait:
    """Return what there is to say of a holder that waits."""
    position = list(in_order(places)).index(holder) + 1 if holder in places.line else 0
    return SlotWait(since, len(places.held), limit, position)

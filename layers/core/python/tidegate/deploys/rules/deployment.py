"""A deployment: one attempt to deploy one revision to one root, and the states it goes through.

::

    queued ─▶ planning ─▶ awaiting_review ─▶ approved ─▶ applying ─▶ applied
      │        ▲ │  │            │                          │  └──▶ apply_failed
      │        │ │  └─▶ no_changes                          └─────▶ outcome_unknown
      │        │ └────▶ plan_failed
      ├─▶ refused        awaiting_review ─▶ rejected | review_expired
      ├─▶ superseded
      └─▶ no_changes, if a pull request was applied before this, its merge
               ▼
             gated ◀─▶ blocked     gated | blocked ─▶ rejected | superseded | gate_expired

    approved ◀─▶ awaiting_requirements ─▶ rejected | gate_expired

    any of these that has not begun to apply ─▶ cancelled

A deployment is ``gated`` while it waits for its dependencies, before its plan or after it, and ``blocked`` once one
of them failed. From both it continues (to planning, awaiting_review or approved) when the gate is satisfied. An
approved deployment is ``awaiting_requirements`` while an apply requirement of its root is not met.

An internal error ends a deployment as ``engine_fault``: nothing was applied. Once a runner has claimed the apply job,
an internal error ends it as ``outcome_unknown`` instead, because the apply may have run. A deployment that somebody
cancelled while it applies ends as the engine reports.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.origin import Destruction
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.plans.rules.plan import Plan
from tidegate.policies.rules.policy import PolicySetStatus, PolicyVerdict
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Revision, Root, queue_id
from tidegate.rules.access import Access
from tidegate.vcs.rules.push import Pushed


class Trigger(StrEnum):
    """What asked for a deployment: a merge, a person by hand, the forge's button that runs a check again, or drift."""

    MERGE = "merge"
    MANUAL = "manual"
    RERUN = "rerun"
    DRIFT = "drift"


class State(StrEnum):
    """Where a deployment is."""

    QUEUED = "queued"
    PLANNING = "planning"
    GATED = "gated"
    BLOCKED = "blocked"
    AWAITING_REVIEW = "awaiting_review"
    APPROVED = "approved"
    AWAITING_REQUIREMENTS = "awaiting_requirements"
    APPLYING = "applying"
    APPLIED = "applied"
    NO_CHANGES = "no_changes"
    PLAN_FAILED = "plan_failed"
    APPLY_FAILED = "apply_failed"
    REJECTED = "rejected"
    REVIEW_EXPIRED = "review_expired"
    GATE_EXPIRED = "gate_expired"
    REFUSED = "refused"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"
    ENGINE_FAULT = "engine_fault"


#: Where a deployment goes when its gate opens, and how it ends when it does not.
_AFTER_A_GATE = frozenset(
    {
        State.PLANNING,
        State.AWAITING_REVIEW,
        State.APPROVED,
        State.REJECTED,
        State.SUPERSEDED,
        State.GATE_EXPIRED,
        State.CANCELLED,
        State.ENGINE_FAULT,
    }
)

_FOLLOWERS: dict[State, frozenset[State]] = {
    State.QUEUED: frozenset(
        {State.PLANNING, State.NO_CHANGES, State.REFUSED, State.SUPERSEDED, State.CANCELLED, State.ENGINE_FAULT}
    ),
    State.PLANNING: frozenset(
        {
            State.GATED,
            State.AWAITING_REVIEW,
            State.APPROVED,
            State.NO_CHANGES,
            State.PLAN_FAILED,
            State.REFUSED,
            State.SUPERSEDED,
            State.CANCELLED,
            State.ENGINE_FAULT,
        }
    ),
    State.GATED: _AFTER_A_GATE | {State.BLOCKED},
    State.BLOCKED: _AFTER_A_GATE | {State.GATED},
    State.AWAITING_REVIEW: frozenset(
        {State.APPROVED, State.REJECTED, State.REVIEW_EXPIRED, State.PLANNING, State.CANCELLED, State.ENGINE_FAULT}
    ),
    # The review's time may run out while its answer is on the way: then the answer came too late. Where what went
    # before is run again meanwhile, the gate shuts again.
    State.APPROVED: frozenset(
        {
            State.APPLYING,
            State.GATED,
            State.AWAITING_REQUIREMENTS,
            State.REJECTED,
            State.REVIEW_EXPIRED,
            State.CANCELLED,
            State.ENGINE_FAULT,
        }
    ),
    State.AWAITING_REQUIREMENTS: frozenset(
        {State.APPROVED, State.REJECTED, State.GATE_EXPIRED, State.CANCELLED, State.ENGINE_FAULT}
    ),
    # Cancelled while no runner has the job: then none takes it any more.
    State.APPLYING: frozenset(
        {State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.CANCELLED, State.ENGINE_FAULT}
    ),
}

#: States after which the infrastructure is what the revision says.
DONE = frozenset({State.APPLIED, State.NO_CHANGES})
#: States after which the infrastructure may be what the revision says: the next baseline.
_MAY_HAVE_APPLIED = frozenset({State.APPLIED, State.NO_CHANGES, State.APPLY_FAILED, State.OUTCOME_UNKNOWN})


def was_applied_before(deployment: Deployment) -> bool:
    """Tell whether a merge had nothing to deploy, as its pull request was applied before."""
    return deployment.state is State.NO_CHANGES and deployment.plan_job is None and bool(deployment.reason)


def is_final(state: State) -> bool:
    """Tell whether a deployment in ``state`` has ended."""
    return state not in _FOLLOWERS


def where_it_is(state: State) -> str:
    """Return where a deployment is, as a sentence goes on about it: ``is planning now``, ``has ended (applied)``."""
    words = state.replace("_", " ")
    return f"has ended ({words})" if is_final(state) else f"is now {words}"


def may_follow(before: State, after: State) -> bool:
    """Tell whether a deployment may go from ``before`` to ``after``."""
    return after in _FOLLOWERS.get(before, frozenset())


def moves_baseline(state: State) -> bool:
    """Tell whether later revisions are compared with a deployment that ended in ``state``.

    A failed or unknown apply counts: it may have changed infrastructure. A failed plan does not.
    """
    return state in _MAY_HAVE_APPLIED


def ends_without_result(state: State, *, apply_was_taken: bool) -> State:
    """Return how a deployment in ``state`` ends when nothing will report its result any more.

    ``apply_was_taken`` tells whether a runner has taken its apply job (design rule 5).
    """
    return State.OUTCOME_UNKNOWN if state is State.APPLYING and apply_was_taken else State.ENGINE_FAULT


@dataclass(frozen=True, slots=True)
class Approval:
    """One person's confirmation of a plan, and when (ISO 8601 in UTC)."""

    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Review:
    """The one answer to a plan review. ``id`` is opaque to users; ``at`` is ISO 8601 in UTC.

    ``approvals`` are all confirmations so far; ``approved`` is decided once there are as many as the
    deployment's rule asks for, or by one rejection. ``by`` and ``at`` are of the answer that decided.
    """

    id: str
    asked_at: str
    approved: bool | None = None
    by: str | None = None
    at: str | None = None
    approvals: tuple[Approval, ...] = ()


class AfterGate(StrEnum):
    """What follows from a gate. The values are the Terraform machine's words."""

    PLAN = "plan"
    PLAN_AGAIN = "plan again"
    REVIEW = "review"
    APPLY = "apply"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate that a deployment waits at: its id, and since when (ISO 8601 in UTC).

    ``next`` is what follows, once that is decided; ``at`` is when that was, and ``by`` who, if a person decided.
    ``cycle`` says how it and others wait for each other, so that it must give up for any of them to go on.
    """

    id: str
    since: str
    next: AfterGate | None = None
    by: str = ""
    at: str = ""
    cycle: str = ""


@dataclass(frozen=True, slots=True)
class Override:
    """An operator's word that a deployment is applied whatever is missing: who, when (ISO 8601 in UTC), and why."""

    by: str
    at: str
    reason: str


@dataclass(frozen=True, slots=True)
class Cancellation:
    """Who cancelled a deployment, or asked for its apply to be interrupted, and when (ISO 8601 in UTC)."""

    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a deployment's timeline: the state it went to, when (ISO 8601 in UTC), by whom, and why."""

    state: State
    at: str
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Audited:
    """A message about the deployment that the audit topic took: its event id, its word, and when."""

    event: str
    state: str
    at: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a deployment ends, decided once and for all, before the audit topic hears of it and others see it."""

    state: State
    reason: str
    error: str
    last_lines: str
    at: str


@dataclass(frozen=True, slots=True)
class Unlocking:
    """Who took away the lock that a deployment put on its queue, and when (ISO 8601 in UTC)."""

    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """The record of a deployment. Times are ISO 8601 in UTC with microseconds.

    ``plan_job`` is the newest job that makes its plan, ``apply_job`` the one that applies it.
    ``authors`` are the logins of those who made the change, ``authors_known`` whether these are all. ``pull_request``
    is the one whose head is deployed by hand, ``foreign`` that its root may be any of the default branch's, as that has
    none of its name in its place, ``base_sha`` the commit of its base branch that the head is merged with
    before, if the pull request is applied (``fork_sha`` the one that both come after, where the forge knows that there
    is but one), ``forced`` that its apply requirements were passed over, ``rerun_of`` the
    deployment that is run again, ``reruns_manual`` that the first of those was asked for by hand.
    ``error`` is the name of what it failed with, such as ``States.HeartbeatTimeout``.
    ``history`` has one step for each state, the first included.
    ``stack`` is the stack that the root is deployed in, ``within`` are the nests around it by name, ``tags`` the
    root's own tags; ``shared`` tells that the root is in several stacks, so that the stack belongs to the deployment's
    identity. ``change_set`` is the id of the change that it is part of, ``why`` a sentence that says why it is,
    ``waits`` what of it goes first, ``layer`` its layer in its stack's part of the change, of ``layers`` there, and
    ``run`` how its jobs run.
    ``access`` says who may do what with it, by the default branch's configuration when it
    was asked for; without, whoever may write. ``superseded_by`` is the newer deployment of the root for which it
    gave up waiting at a gate, and ``supersedes`` the one that gave up for this one;
    ``contains`` is the one before it in its queue that came to a bad end and that its revision contains, ``carries``
    are such that were dropped; ``look_twice`` tells that it does not wait itself for all that one of these waited for.
    ``contained_by`` is a deployment of the same root and stack, applied (or with nothing to change) at
    ``contained_at``, whose revision contains this one's.
    ``rule_changes`` are what its commit, or one that it contains and that was left undone, changes of what runs or
    grants something, in words: people look at its plan for that.
    ``policy_sets`` are those that its plan is held against before anybody reviews or applies it, ``verdicts`` what they
    say of ``plan``, and ``plan_digest`` is what plans have in common that say what it does. ``withdrawn`` is why it is
    not to be applied any more, as its pull request was closed: it ends where it waits next.
    ``requires`` is what its root requires of every apply, ``unmatched`` that no check says what that is; ``pushed`` are
    the pushes whose changes it applies, ``returns`` tells that those before them may have deployed nothing of its root.
    ``missing`` is what of the requirements was missing last, in Markdown, ``frozen`` until when freeze windows hold it
    back, and why, in plain text, if nothing else was missing, ``approved_here`` who approved it in the place of
    others, and ``override`` who passed over what is missing. ``cancelled`` is who cancelled it; while it applies, and
    after that, who interrupted its apply.
    ``destroy`` tells that it destroys what the root made, in place of deploying it. ``slot_since`` is since when it
    waits for a concurrency slot, empty if it does not.
    ``first_requested_at`` is when the first of those was asked for that this one runs again, if any;
    ``touched_at`` is when a deployment that this one runs again last may have changed infrastructure.
    """

    id: str
    repository: str
    root: Root
    revision: Revision
    trigger: Trigger
    requested_by: str
    requested_at: str
    state: State = State.QUEUED
    reason: str = ""
    must_review: str | None = None
    plan: Plan | None = None
    review: Review | None = None
    gate: Gate | None = None
    plan_job: str | None = None
    apply_job: str | None = None
    apply_started_at: str | None = None
    last_lines: str = ""
    unlocked: Unlocking | None = None
    changed_at: str = ""
    version: int = 0
    authors: tuple[str, ...] = ()
    authors_known: bool = True
    pull_request: int | None = None
    foreign: bool = False
    base_sha: str = ""
    fork_sha: str = ""
    forced: bool = False
    rerun_of: str | None = None
    reruns_manual: bool = False
    review_rule: ReviewRule = field(default_factory=ReviewRule)
    stack: str = DEFAULT_STACK
    within: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    shared: bool = False
    change_set: str = ""
    why: str = ""
    layer: int = 1
    layers: int = 1
    waits: Waits = field(default_factory=Waits)
    run: RunSettings = field(default_factory=RunSettings)
    access: Access | None = None
    supersedes: str | None = None
    contains: str | None = None
    carries: tuple[str, ...] = ()
    look_twice: bool = False
    contained_by: str | None = None
    contained_at: str = ""
    first_requested_at: str = ""
    touched_at: str = ""
    rule_changes: tuple[str, ...] = ()
    policy_sets: tuple[PolicySetStatus, ...] = ()
    verdicts: tuple[PolicyVerdict, ...] = ()
    plan_digest: str = ""
    withdrawn: str = ""
    requires: tuple[Requirements, ...] = ()
    unmatched: bool = False
    pushed: tuple[Pushed, ...] = ()
    returns: bool = False
    missing: tuple[str, ...] = ()
    frozen: str = ""
    approved_here: tuple[Approval, ...] = ()
    override: Override | None = None
    cancelled: Cancellation | None = None
    slot_since: str = ""
    superseded_by: str | None = None
    destroy: Destruction | None = None
    error: str = ""
    ending: Ending | None = None
    history: tuple[Step, ...] = ()
    audited: tuple[Audited, ...] = ()

    @property
    def queue(self) -> str:
        return queue_id(self.repository, self.root.name)

    @property
    def destroys_deployed(self) -> bool:
        """Whether it destroys what another deployment deployed, from that one's files."""
        return self.destroy is not None and bool(self.destroy.deployment)

    @property
    def rejected_by(self) -> str | None:
        """Return who rejected the deployment, at its gate or in its review."""
        if self.gate is not None and self.gate.next is AfterGate.REJECTED:
            return self.gate.by
        return self.review.by if self.review is not None and self.review.approved is False else None

    def moved(self, state: State, at: str, reason: str = "", by: str = "") -> Deployment:
        """Return the record after the step to ``state``. Raise ValueError for a step that may not be."""
        if not may_follow(self.state, state):
            raise ValueError(f"{self.id} cannot go from {self.state} to {state}")
        history = (*self.history, Step(state, at, by, reason))
        return replace(self, state=state, reason=reason, changed_at=at, history=history, slot_since="")

    def begun(self) -> Deployment:
        """Return the record of a new deployment: its timeline begins when it was asked for."""
        first = Step(self.state, self.requested_at, self.requested_by, self.reason)
        return self if self.history else replace(self, history=(first,))

    def ended(self, ending: Ending) -> Deployment:
        """Return the record after its end. Raise ValueError when it cannot end like that."""
        by = self.rejected_by if ending.state is State.REJECTED else None
        if ending.state is State.CANCELLED and self.cancelled is not None:
            by = self.cancelled.by
        ended = self.moved(ending.state, ending.at, ending.reason, by or "")
        return replace(ended, error=ending.error, last_lines=ending.last_lines, ending=ending)

    def ending_without_result(self, error: str | None, at: str, *, apply_was_taken: bool) -> Ending:
        """Return how a deployment ends whose result nobody will report.

        ``error`` is the name of what the Terraform machine failed with, if it is known.
        """
        state = ends_without_result(self.state, apply_was_taken=apply_was_taken)
        why = f"Internal error ({error})" if error else "The Step Functions execution ended without a result"
        known = "nothing was applied" if state is State.ENGINE_FAULT else "an apply was running"
        return Ending(state, f"{why}; {known}.", error or "", "", at)

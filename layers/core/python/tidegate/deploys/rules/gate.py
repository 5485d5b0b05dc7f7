"""Dependency gates: may a deployment that depends on others of its change continue, and how?

There are two gates: before the plan, for what the root depends on, and before the apply, for stacks that are applied
first. Dependencies outside the change are not waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from tidegate.changes.rules.waits import MOST_REFUSED
from tidegate.changes.rules.wave import Admission, AdmissionVerdict
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.freeze import LONGEST_FREEZE_DAYS
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.reason import because
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.rerun import run_again
from tidegate.deploys.rules.review import REVIEW_DAYS, Need, evaluate_plan, moment
from tidegate.deploys.rules.state import DONE, State
from tidegate.deploys.rules.waiting import AfterGate, Gate
from tidegate.rules.timestamp import LONG_AGO
from tidegate.texts.sentences import listed

#: How long the Terraform machine waits at a gate (its TimeoutSeconds): a dependency may itself wait through the longest
#: freeze window and its review, or through its review and a re-run.
GATE_DAYS = LONGEST_FREEZE_DAYS + REVIEW_DAYS
#: How often an execution may wait at gates or for requirements. Seven times four weeks, with a review of a week after
#: each, leave a quarter of the year that Step Functions lets an execution live.
WAITS_PER_EXECUTION = 7
#: The id of the gate before the plan. The one before the apply has the id of the plan's job.
BEFORE_PLAN = "plan"
#: Names in a reason at most, and up to this the count is exact. Beyond, it is rounded down to a power of two: each new
#: reason is a write, and a check-run update, for each waiting deployment.
_NAMED = 3
_COUNTED = 10

#: States in which a deployment waits at a gate.
WAITING = frozenset({State.GATED, State.BLOCKED})
_BAD_ENDS: dict[State, str] = {
    State.BLOCKED: "is blocked",
    State.PLAN_FAILED: "failed to plan",
    State.APPLY_FAILED: "failed to apply",
    State.REJECTED: "was rejected",
    State.REVIEW_EXPIRED: "was not reviewed in time",
    State.GATE_EXPIRED: "timed out while it waited",
    State.REFUSED: "was not allowed to deploy",
    State.SUPERSEDED: "was superseded",
    State.CANCELLED: "was cancelled",
    State.OUTCOME_UNKNOWN: "ended with an unknown outcome",
    State.ENGINE_FAULT: "ended with an internal error",
}


class Point(StrEnum):
    """What a gate precedes: the plan or the apply."""

    PLAN = "plan"
    APPLY = "apply"


class GateAnswer(StrEnum):
    """A person's answer for a deployment at a gate. The values are the API's words."""

    RETRY = "retry"
    REJECT = "reject"
    APPROVE = "approve"
    OVERRIDE = "override"


class Opening(StrEnum):
    """Whether a gate lets its deployment continue."""

    OPEN = "open"
    PLAN_AGAIN = "plan again"
    WAIT = "wait"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Dependency:
    """A dependency: the newest deployment of a root in a stack of the change.

    One that is not in its queue yet is ``queued``. ``at`` is when it came to its state, ``changed`` when it, or one
    that it runs again, last may have changed infrastructure. ``is_lost`` tells that the change does
    not know it any more: then ``root`` is empty where the whole stack is meant. An environment of a config repository
    has no ``stack``, and ``why`` says what it waits for itself.
    """

    root: str
    stack: str
    state: State
    at: datetime | None = None
    changed: datetime | None = None
    is_lost: bool = False
    why: str = ""

    @property
    def name(self) -> str:
        if not self.stack:
            return self.root
        return f"{self.root} ({self.stack})" if self.root else f"stack {self.stack}"


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Whether a gate opens, why, and because of which dependencies: pending, failed, or applied since the plan."""

    opening: Opening
    reason: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dependencies:
    """All dependencies at a gate. They are evaluated once, however many deployments share them."""

    all: tuple[Dependency, ...]

    @cached_property
    def shut(self) -> GateVerdict | None:
        """Why nothing that depends on these may continue, None if it may."""
        gone = [each for each in self.all if each.is_lost]
        if gone:
            reason = f"The records of {_listed(gone)} have expired. Reject this deployment and merge again."
            return _verdict(Opening.BLOCKED, reason, gone)
        bad = [each for each in self.all if each.state in _BAD_ENDS]
        if bad:
            cause = min(bad, key=lambda each: (each.state is State.BLOCKED, each.at or LONG_AGO, each.name))
            reason = f"{cause.name} {_BAD_ENDS[cause.state]}{_besides(len(bad) - 1)}."
            return _verdict(Opening.BLOCKED, reason, bad)
        missing = [each for each in self.all if each.state not in DONE]
        if not missing:
            return None
        reasons = dict.fromkeys(each.why for each in missing if each.why)
        return _verdict(Opening.WAIT, " ".join((f"Waiting for {_listed(missing)}.", *reasons)), missing)

    @cached_property
    def changed(self) -> datetime:
        """When any of these last may have changed infrastructure, ``LONG_AGO`` if none has."""
        return max((each.changed or LONG_AGO for each in self.all), default=LONG_AGO)


def dependency(root: str, stack: str, deployment: Deployment | None) -> Dependency:
    """Return a root in a stack as a dependency; ``deployment`` is None while there is no record.

    Whatever its own ending, it counts as applied once a revision that contains its own is applied.
    """
    if deployment is None:
        return Dependency(root, stack, State.QUEUED)
    if deployment.lineage.contained_by is not None:
        return Dependency(root, stack, State.APPLIED, deployment.lineage.contained_at, deployment.lineage.contained_at)
    last = deployment.history[-1].at if deployment.history else deployment.changed_at
    changed = last if deployment.state is State.APPLIED else deployment.rerun.touched_at
    return Dependency(root, stack, deployment.state, last, changed)


def lost(deployment: Deployment, members: Collection[tuple[str, str]]) -> list[Dependency]:
    """Return a deployment's dependencies that its change no longer contains: they are forgotten, not done.

    ``members`` are all roots in stacks of the change. A dependency was one of them, unless the commit's root was
    refused, which never was one: it is returned, too.
    """
    waits, stacks = deployment.change.waits, {stack for _, stack in members}
    named = {*waits.plan_after, *(waits.apply_after if point_of(deployment) is Point.APPLY else ())}
    roots = {root for root, stack in members if stack == deployment.stack}
    gone = [("", stack) for stack in sorted(named - stacks)]
    gone += [(root, deployment.stack) for root in sorted(set(waits.roots) - roots)]
    refused = [Dependency(root, stack, State.REFUSED) for root, stack in waits.refused]
    return refused + [Dependency(root, stack, State.QUEUED, is_lost=True) for root, stack in gone]


def point_of(deployment: Deployment) -> Point:
    """Return at which gate a deployment is."""
    return Point.PLAN if deployment.planned.plan is None else Point.APPLY


def waits_for(deployment: Deployment, root: str, stack: str) -> bool:
    """Tell whether a deployment depends on a root in a stack of its change, at its current gate.

    The gate before the apply includes the dependencies of the plan: they may have been run again since.
    """
    waits = deployment.change.waits
    if (root, stack) == (deployment.root.name, deployment.stack):
        return False
    if point_of(deployment) is Point.APPLY:
        return waits_at_some_gate_for(deployment, root, stack)
    return stack in waits.plan_after or (stack == deployment.stack and root in waits.roots)


def evaluate_gate(
    deployment: Deployment, dependencies: Collection[Dependency] | Dependencies, point: Point
) -> GateVerdict:
    """Decide whether a gate opens, given all dependencies.

    A failed dependency blocks immediately, whatever the others do. If a dependency was applied after the plan began,
    the deployment is planned again; the same holds for a failed apply that was run again.
    """
    known = dependencies if isinstance(dependencies, Dependencies) else Dependencies(tuple(dependencies))
    if known.shut is not None:
        return known.shut
    since = _planned_since(deployment)
    if point is Point.APPLY and known.changed > since:
        newer = [each for each in known.all if each.changed and each.changed > since]
        return _verdict(Opening.PLAN_AGAIN, f"{_listed(newer)} changed after this plan was made.", newer)
    return _verdict(Opening.OPEN, "All dependencies are deployed.", [])


def looked_at(deployment: Deployment, dependencies: Collection[Dependency] | Dependencies, at: datetime) -> Deployment:
    """Return the record after a look at its gate at ``at``: still gated, blocked, or with what follows decided.

    An earlier decision stays.
    """
    gate = deployment.gate
    if gate is None or gate.next is not None or deployment.state not in WAITING:
        return deployment
    verdict = evaluate_gate(deployment, dependencies, point_of(deployment))
    if verdict.opening is Opening.WAIT and gate.cycle:
        verdict = replace(verdict, opening=Opening.BLOCKED, reason=gate.cycle)
    state = State.BLOCKED if verdict.opening is Opening.BLOCKED else State.GATED
    looked = replace(deployment, reason=verdict.reason)
    if verdict.opening is Opening.WAIT:
        looked = _saying_for_whom(looked)
    if state is not deployment.state:
        looked = deployment.moved(state, at, verdict.reason)
    if verdict.opening in {Opening.OPEN, Opening.PLAN_AGAIN}:
        looked = replace(looked, gate=replace(gate, next=_after(deployment, verdict.opening), at=at))
    return looked


def held_by_wave(deployment: Deployment, gate: Gate, verdict: AdmissionVerdict, at: datetime) -> Deployment:
    """Return the record of a deployment at its gate that may not begin its apply, whatever its dependencies do."""
    if verdict.admission is Admission.STOPPED:
        return rejected(deployment, gate, verdict.by, at, verdict.reason)
    state = State.BLOCKED if verdict.admission is Admission.FAILURES else State.GATED
    held = replace(deployment, gate=replace(gate, wave=verdict.reason))
    if state is not deployment.state:
        return held.moved(state, at, verdict.reason)
    return _saying_for_whom(replace(held, reason=verdict.reason))


def soaking(deployment: Deployment, dependencies: Collection[Dependency], at: datetime) -> tuple[Dependency, ...]:
    """Return the soak times that a deployment waits for before its apply, as dependencies.

    A stack soaks from when it was completely applied. Where nothing was applied, there is nothing to soak; and while
    it is not complete, it is waited for itself.
    """
    if point_of(deployment) is not Point.APPLY:
        return ()
    found = []
    for soak in deployment.change.waits.soaks:
        members = [each for each in dependencies if each.stack == soak.stack and each.root]
        if not any(each.changed for each in members) or not all(map(is_done, members)):
            continue
        until = max(each.at or LONG_AGO for each in members) + timedelta(seconds=soak.seconds)
        if until > at:
            why = f"It ends on {moment(until)}."
            found.append(Dependency(f"the soak time of stack {soak.stack}", "", State.QUEUED, why=why))
    return tuple(found)


def rejected(
    deployment: Deployment,
    gate: Gate,
    by: str,
    at: datetime,
    why: str = "It was rejected while it waited for its dependencies.",
    reason: str = "",
) -> Deployment:
    """Return the record of a deployment that ``by`` rejects at its gate: how it ends is decided."""
    ending = Ending(State.REJECTED, deployment.outcome.withdrawn or because(why, reason), "", "", at)
    return replace(
        deployment,
        gate=replace(gate, next=AfterGate.REJECTED, by=by, at=at, reason=reason),
        outcome=replace(deployment.outcome, ending=ending),
    )


def superseded(deployment: Deployment, gate: Gate, newer: Deployment, at: datetime) -> Deployment:
    """Return the record of a blocked deployment that a newer one supersedes: how it ends is decided."""
    reason = f"Superseded by {newer.revision.short} while it was blocked. {deployment.reason}".rstrip()
    ending = Ending(State.SUPERSEDED, reason, "", "", at)
    decided = replace(gate, next=AfterGate.SUPERSEDED, at=at)
    return replace(
        deployment,
        gate=decided,
        outcome=replace(deployment.outcome, ending=ending),
        lineage=replace(deployment.lineage, superseded_by=newer.id),
    )


def is_done(dependency: Dependency) -> bool:
    """Tell whether the dependency is done."""
    return not dependency.is_lost and dependency.state in DONE


def waits_at_some_gate_for(deployment: Deployment, root: str, stack: str) -> bool:
    """Tell whether a deployment depends on a root in a stack of its change, at either gate."""
    waits = deployment.change.waits
    in_stacks = stack in {*waits.plan_after, *waits.apply_after}
    return in_stacks or (stack == deployment.stack and root in waits.roots)


def is_held_as(
    newer: Deployment, old: Deployment, members: Collection[tuple[str, str]], others: Mapping[tuple[str, str], bool]
) -> bool:
    """Tell whether a newer deployment itself waits for all pending dependencies of the one before it.

    ``members`` are the roots in stacks of the newer one's change, ``others`` those of the older one's, each with
    whether it is done. A lost dependency of the older one is waited for by none.
    """
    waits = old.change.waits
    awaited = [each for each, is_done in others.items() if not is_done and waits_at_some_gate_for(old, *each)]
    is_known = {*waits.plan_after, *waits.apply_after} <= {stack for _, stack in others}
    is_known &= set(waits.roots) <= {root for root, stack in others if stack == old.stack}
    is_known &= len(waits.refused) < MOST_REFUSED
    awaited += waits.refused
    return is_known and all(one in members and waits_at_some_gate_for(newer, *one) for one in awaited)


def can_be_retried(deployment: Deployment) -> bool:
    """Tell whether a retry can run again something that blocks a deployment.

    Not a pull request's head, which is not on the default branch, nor a refused deployment. In a deadlock, nothing
    failed that could be retried.
    """
    in_cycle = deployment.gate is not None and bool(deployment.gate.cycle)
    return deployment.request.pull_request is None and not deployment.change.waits.refused and not in_cycle


def is_behind(deployment: Deployment, other: Deployment) -> bool:
    """Tell whether ``other``, of the same change, is queued behind a deployment that depends on it.

    Both are of one root, in two stacks, and share its queue; ``other`` is run again. Neither would ever continue. A
    merge does not yield: its re-run would be overtaken.
    """
    waits = deployment.change.waits
    is_dependency = (
        other.stack in {*waits.plan_after, *waits.apply_after} and other.request.trigger is not Trigger.MERGE
    )
    return other.state is State.QUEUED and other.queue == deployment.queue and is_dependency


def yielding(deployment: Deployment, gate: Gate, other: Deployment, at: datetime) -> Deployment:
    """Return the record of a deployment that yields to ``other``, and is run again after it."""
    reason = (
        f"{_named(other)} was queued behind this deployment, which depends on it. It goes first, and this "
        "deployment runs again after it."
    )
    ending = Ending(State.SUPERSEDED, reason, "", "", at)
    decided = replace(gate, next=AfterGate.SUPERSEDED, by=other.request.by, at=max(at, other.request.at))
    stepped = replace(deployment, gate=decided, outcome=replace(deployment.outcome, ending=ending))
    return replace(stepped, lineage=replace(stepped.lineage, superseded_by=run_after(stepped).id))


def is_shut(deployment: Deployment, dependencies: Collection[Dependency]) -> bool:
    """Tell whether an approved deployment must wait at its gate again.

    A dependency may have been run again during the review.
    """
    return evaluate_gate(deployment, dependencies, Point.APPLY).opening is not Opening.OPEN


def run_after(stepped: Deployment) -> Deployment:
    """Return the deployment that runs one again that yielded: the same each time."""
    gate = stepped.gate or Gate("", stepped.request.at)
    at = (gate.at or gate.since) + timedelta(microseconds=1)
    return run_again(stepped, stepped.revision.branch, gate.by, at, f"after others {stepped.id}")


def yielded(deployment: Deployment) -> bool:
    """Tell whether a deployment yielded to one behind it, and not to a newer revision."""
    gate = deployment.gate
    return gate is not None and gate.next is AfterGate.SUPERSEDED and bool(gate.by)


def successor(deployment: Deployment, waiting: Collection[Deployment]) -> Deployment | None:
    """Return the deployment that supersedes a blocked one: the next in its queue that can.

    It is a merge of another revision into the same root and stack, and later; for a re-run, its first request's time
    counts. A manual deployment is an exception that ends; it supersedes nothing.
    """
    asked = deployment.rerun.first_requested_at or deployment.request.at
    later = [
        each
        for each in waiting
        if each.request.trigger is Trigger.MERGE
        and (each.queue, each.stack) == (deployment.queue, deployment.stack)
        and each.revision.sha != deployment.revision.sha
        and each.request.at > asked
    ]
    return min(later, key=lambda each: (each.request.at, each.id), default=None)


def _saying_for_whom(waiting: Deployment) -> Deployment:
    """Return the record; its timeline names the dependencies only when it begins to wait."""
    last = waiting.history[-1] if waiting.history else None
    if last is None or last.reason or last.state is not State.GATED:
        return waiting
    return replace(waiting, history=(*waiting.history[:-1], replace(last, reason=waiting.reason)))


def _after(deployment: Deployment, opening: Opening) -> AfterGate:
    if opening is Opening.PLAN_AGAIN:
        return AfterGate.PLAN_AGAIN
    if deployment.planned.plan is None:
        return AfterGate.PLAN
    if deployment.review is not None and deployment.review.approved:
        return AfterGate.APPLY  # It returned to the gate after its review, and nothing has changed since its plan.
    is_reviewed = evaluate_plan(deployment, deployment.planned.plan).next is Need.REVIEW
    return AfterGate.REVIEW if is_reviewed else AfterGate.APPLY


def _planned_since(deployment: Deployment) -> datetime:
    """Return when the plan began: it may miss anything applied later."""
    began = [step.at for step in deployment.history if step.state is State.PLANNING]
    return began[-1] if began else LONG_AGO


def _named(deployment: Deployment) -> str:
    return f"{deployment.root.name} ({deployment.stack})"


def _verdict(opening: Opening, reason: str, about: Sequence[Dependency]) -> GateVerdict:
    return GateVerdict(opening, reason, tuple(each.name for each in about))


def _listed(many: Sequence[Dependency]) -> str:
    if len(many) > _NAMED:
        return f"{_counted(len(many))} others"
    return listed([each.name for each in many])


def _besides(others: int) -> str:
    """Return how many failed besides the one that did so first, of those that are not merely blocked."""
    if not others:
        return ""
    return (
        f", and {_counted(others)} other{'' if others == 1 else 's'} failed or {'is' if others == 1 else 'are'} "
        "blocked, too"
    )


def _counted(number: int) -> str:
    return str(number) if number <= _COUNTED else f"at least {1 << (number.bit_length() - 1)}"

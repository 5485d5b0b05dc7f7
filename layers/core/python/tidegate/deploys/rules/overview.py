"""A change for display: its stacks in gate order, the progress of each, and who waits for whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import DONE, FAILED, State, is_final
from tidegate.rules.graphs import right_before, tiers

#: What a stack with several states shows: the first of these. Those that need a person come first, done ones last.
_URGENCY = (
    *FAILED,
    State.BLOCKED,
    State.AWAITING_REVIEW,
    State.AWAITING_REQUIREMENTS,
    State.APPLYING,
    State.APPROVED,
    State.PLANNING,
    State.GATED,
    State.QUEUED,
    State.REJECTED,
    State.REVIEW_EXPIRED,
    State.GATE_EXPIRED,
    State.CANCELLED,
    State.REFUSED,
    State.SUPERSEDED,
    State.APPLIED,
    State.NO_CHANGES,
)


def urgency(state: State) -> int:
    """Return the rank of a state among those of a change: the lowest needs a person most."""
    return _URGENCY.index(state)


@dataclass(frozen=True, slots=True)
class DependencyMember:
    """A deployment that another one of its change still waits for, before its plan or its apply."""

    deployment: Deployment
    before_plan: bool


@dataclass(frozen=True, slots=True)
class StackOverview:
    """A stack of a change. ``state`` is the one of its members' that needs a person most, ``tier`` counts from 1.

    ``plan_after`` and ``apply_after`` name the stacks right before it: what these wait for in turn is left out.
    """

    name: str
    tier: int
    state: State
    members: tuple[Deployment, ...]
    plan_after: tuple[str, ...] = ()
    apply_after: tuple[str, ...] = ()

    @property
    def within(self) -> tuple[str, ...]:
        """Its parent stacks, by name."""
        return self.members[0].within

    @property
    def done(self) -> int:
        """How many members are applied, or had nothing to change."""
        return sum(is_done(member) for member in self.members)

    @property
    def running(self) -> int:
        """How many members are being applied."""
        return sum(member.state is State.APPLYING for member in self.members)

    @property
    def waiting(self) -> int:
        """How many members have not begun their applies, nor ended."""
        return sum(not is_final(member.state) for member in self.members) - self.running

    @property
    def failed(self) -> int:
        """How many members failed or have an unknown outcome."""
        return sum(member.state in FAILED and not is_done(member) for member in self.members)

    @property
    def given_up(self) -> int:
        """How many members ended without an apply: rejected, cancelled, refused or expired."""
        return sum(member.state in _GIVEN_UP and not is_done(member) for member in self.members)


#: States of members that ended without an apply, though nothing failed.
_GIVEN_UP = frozenset({State.REJECTED, State.REVIEW_EXPIRED, State.GATE_EXPIRED, State.CANCELLED, State.REFUSED})


@dataclass(frozen=True, slots=True)
class Needed:
    """What of a change needs a person: plans to be reviewed, deployments that failed, and blocked ones.

    ``rejected`` are those that ended by a person or without one: they need nobody, but the change is not whole.

    What failed needs nobody any more once a newer revision that contains it is deployed.
    """

    reviews: tuple[Deployment, ...]
    failed: tuple[Deployment, ...]
    blocked: tuple[Deployment, ...]
    rejected: tuple[Deployment, ...] = ()

    @property
    def anything(self) -> bool:
        return bool(self.reviews or self.failed or self.blocked or self.rejected)


def needed(stacks: Iterable[StackOverview]) -> Needed:
    """Return which members need a person, in the order of their stacks."""
    members = [member for stack in stacks for member in stack.members]
    return Needed(
        tuple(one for one in members if one.state is State.AWAITING_REVIEW),
        tuple(one for one in members if one.state in FAILED and one.lineage.contained_by is None),
        tuple(one for one in members if one.state is State.BLOCKED),
        tuple(one for one in members if one.state is State.REJECTED and one.lineage.contained_by is None),
    )


def naming(change: Sequence[Deployment]) -> Deployment:
    """Return the member that says what a change is, who asked for it, and how: a re-run of another one does not."""
    return min(change, key=lambda one: (one.request.trigger is Trigger.RERUN, one.request.at, one.id))


def is_done(deployment: Deployment) -> bool:
    """Tell whether dependents of this deployment may continue."""
    return deployment.state in DONE or deployment.lineage.contained_by is not None


def overview(change: Iterable[Deployment]) -> tuple[StackOverview, ...]:
    """Return the stacks of a change, by tier and name; members by layer and root."""
    members: dict[str, list[Deployment]] = {}
    for one in sorted(change, key=lambda one: (one.stack, one.change.layer, one.root.name)):
        members.setdefault(one.stack, []).append(one)
    plans = {name: {first for one in its for first in one.change.waits.plan_after} for name, its in members.items()}
    applies = {name: {first for one in its for first in one.change.waits.apply_after} for name, its in members.items()}
    before = {name: (plans[name] | applies[name]) & members.keys() - {name} for name in members}
    tier, nearest = tiers(before), right_before(before)
    return tuple(
        StackOverview(
            name,
            tier[name],
            min(map(_counted, members[name]), key=_URGENCY.index),
            tuple(members[name]),
            tuple(first for first in nearest[name] if first in plans[name]),
            tuple(first for first in nearest[name] if first not in plans[name]),
        )
        for name in sorted(members, key=lambda name: (tier[name], name))
    )


def _counted(deployment: Deployment) -> State:
    """Return a deployment's state in its stack: applied, once a newer revision that contains it is applied."""
    return State.APPLIED if deployment.lineage.contained_by is not None else deployment.state


def awaited(deployment: Deployment, change: Iterable[Deployment]) -> tuple[DependencyMember, ...]:
    """Return the pending dependencies of a deployment in its change; none once it has ended.

    Failed ones come first, then those that need a person.
    """
    if is_final(deployment.state):
        return ()
    others = sorted((one for one in change if one.id != deployment.id and not is_done(one)), key=_cause_first)
    found = ((one, _goes_before_plan(one, deployment)) for one in others)
    return tuple(
        DependencyMember(one, before_plan)
        for one, before_plan in found
        if before_plan or one.stack in deployment.change.waits.apply_after
    )


def by_stack(waits_for: Iterable[DependencyMember]) -> dict[str, list[DependencyMember]]:
    """Return dependencies by stack, in order of first appearance."""
    found: dict[str, list[DependencyMember]] = {}
    for each in waits_for:
        found.setdefault(each.deployment.stack, []).append(each)
    return found


def _cause_first(one: Deployment) -> tuple[bool, int]:
    return not is_final(one.state), _URGENCY.index(one.state)


def _goes_before_plan(one: Deployment, deployment: Deployment) -> bool:
    waits = deployment.change.waits
    is_dependency = one.stack in waits.plan_after or (one.stack == deployment.stack and one.root.name in waits.roots)
    return is_dependency and deployment.planned.plan is None

"""The status of a pull request's policy sets: what their owners must approve, and who has.

A set that refuses a plan blocks until enough different owners approve the head by a review, or the plan changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.policies.rules.policy import SAME_RULES, PolicySetStatus, PolicyVerdict, RuleChanges
from tidegate.rules.access import Person, matches
from tidegate.vcs.rules.approvals import Approvals, Disregarded
from tidegate.vcs.rules.authors import Authors


class SetState(StrEnum):
    """The status of a set. ``unknown`` has plans that failed or could not be evaluated; approvals do not help there."""

    WAITING = "waiting"
    PASSED = "passed"
    WARNED = "warned"
    FAILED = "failed"
    APPROVED = "approved"
    UNKNOWN = "unknown"


_WITHOUT_PLAN = frozenset({LayerState.FAILED, LayerState.REFUSED})


@dataclass(frozen=True, slots=True)
class Standing:
    """The status of one set at a head. ``judged`` are the layers with a verdict of it, ``missing`` those without.

    ``approved_by`` are the different owners who approve the head; ``needed`` approvals override the set's violations:
    one more than the set asks for if the authors ``made_by`` may be incomplete. ``rules`` are the pull request's
    changes to what runs or grants something, which owners must approve as well.
    """

    policy_set: PolicySetStatus
    state: SetState
    head: str
    judged: tuple[tuple[SpeculativePlan, PolicyVerdict], ...] = ()
    missing: tuple[SpeculativePlan, ...] = ()
    approved_by: tuple[str, ...] = ()
    disregarded: tuple[Disregarded, ...] = ()
    made_by: Authors = field(default_factory=Authors)
    rules: tuple[str, ...] = ()

    @property
    def needed(self) -> int:
        """How many owners must approve the head to override the set's violations."""
        return self.policy_set.approvals + (not self.made_by.known)

    @property
    def blocks(self) -> bool:
        """Whether the set blocks the merge."""
        return self.state not in {SetState.PASSED, SetState.WARNED, SetState.APPROVED}

    @property
    def has_nothing_to_judge(self) -> bool:
        """Whether it blocks the merge only because there are no plans: what failed there is to blame, not the set."""
        return self.state is SetState.UNKNOWN and all(each.state in _WITHOUT_PLAN for each in self.missing)


def refused(layers: Iterable[SpeculativePlan]) -> tuple[PolicySetStatus, ...]:
    """Return the sets, each once, that refuse a plan: approvals matter only for these."""
    found = {
        held.name: held
        for layer in layers
        for held in layer.policy_sets
        if any(verdict.failed for verdict in layer.verdicts if verdict.policy_set == held.name)
    }
    return tuple(found.values())


def asked_for(layers: Iterable[SpeculativePlan], rules: RuleChanges) -> tuple[PolicySetStatus, ...]:
    """Return the sets, each once, that need approvals: they refuse a plan, or their rules change."""
    found = {held.name: held for held in (*refused(layers), *rules.owners)}
    return tuple(found.values())


def policy_statuses(
    layers: Sequence[SpeculativePlan],
    head: str,
    given: Approvals,
    people: Mapping[str, Person],
    rules: RuleChanges = SAME_RULES,
) -> tuple[Standing, ...]:
    """Return the status of each set that evaluates layers, or whose owners must approve ``rules``, by name.

    ``people`` are those who approve the head, by their names in ``given``; a person missing there is no owner.
    """
    asked = {held.name: held for held in rules.owners}
    sets = asked | {held.name: held for layer in layers for held in layer.policy_sets}
    changes = {name: rules.changes if name in asked else () for name in sets}
    return tuple(_standing(sets[name], layers, head, given, people, rules=changes[name]) for name in sorted(sets))


def _standing(
    held: PolicySetStatus,
    layers: Sequence[SpeculativePlan],
    head: str,
    given: Approvals,
    people: Mapping[str, Person],
    *,
    rules: tuple[str, ...],
) -> Standing:
    judged, missing = [], []
    for layer in layers:
        if any(each.name == held.name for each in layer.policy_sets) and layer.state is not LayerState.CANCELLED:
            verdict = next((each for each in layer.verdicts if each.policy_set == held.name), None)
            if verdict is not None and layer.plan is not None and not layer.options:
                judged.append((layer, verdict))
            else:
                missing.append(layer)
    owners = tuple(login for login in given.of_head if _is_owner(held, people.get(login)))
    others = tuple(Disregarded(login, "is not an owner of it") for login in given.of_head if login not in owners)
    lacks = len(owners) < held.approvals + given.besides
    fails = bool(rules) or any(verdict.failed for _, verdict in judged)
    state = _state([verdict for _, verdict in judged], missing, fails=fails, lacks_approval=lacks)
    disregarded = (*given.disregarded, *others)
    return Standing(held, state, head, tuple(judged), tuple(missing), owners, disregarded, given.made_by, rules)


def _is_awaited(layer: SpeculativePlan) -> bool:
    """Tell whether a layer may still get a verdict. A plan with options does not count."""
    return not layer.is_done or (layer.plan is not None and layer.state is not LayerState.FAILED and not layer.options)


def _is_owner(held: PolicySetStatus, person: Person | None) -> bool:
    return person is not None and any(matches(each, person) for each in held.owners)


def _state(
    verdicts: Sequence[PolicyVerdict], missing: Sequence[SpeculativePlan], *, fails: bool, lacks_approval: bool
) -> SetState:
    if fails and lacks_approval:
        return SetState.FAILED
    if any(_is_awaited(layer) for layer in missing):
        return SetState.WAITING
    if missing:
        return SetState.UNKNOWN
    if fails:
        return SetState.APPROVED
    return SetState.WARNED if any(verdict.warned for verdict in verdicts) else SetState.PASSED

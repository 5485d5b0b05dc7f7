"""Where the policy sets of a pull request stand: what their owners must approve, and who has.

A set that refuses a plan blocks until enough different owners approve the head by a review, or the plan changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegate.domain.access import Person, matches
from tidegate.domain.policy import HeldPolicySet, PolicyVerdict
from tidegate.domain.pull_request import PullRequestReview, ReviewVerdict
from tidegate.domain.temporary_layer import LayerState, TemporaryLayer


class SetState(StrEnum):
    """Where a set stands. ``unknown`` has plans that could not be made or held against it; no approval helps there."""

    WAITING = "waiting"
    PASSED = "passed"
    WARNED = "warned"
    FAILED = "failed"
    APPROVED = "approved"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Disregarded:
    """An approval that does not count, with the reason in words that follow the name."""

    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one set stands at a head. ``judged`` are the layers with a verdict of it, ``missing`` those without.

    ``approved_by`` are the owners who approve the head, each once.
    """

    policy_set: HeldPolicySet
    state: SetState
    head: str
    judged: tuple[tuple[TemporaryLayer, PolicyVerdict], ...] = ()
    missing: tuple[TemporaryLayer, ...] = ()
    approved_by: tuple[str, ...] = ()
    disregarded: tuple[Disregarded, ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether the pull request is not to be merged as it is."""
        return self.state not in {SetState.PASSED, SetState.WARNED, SetState.APPROVED}


@dataclass(frozen=True, slots=True)
class Approvals:
    """The approvals of a head: whose count, and whose do not."""

    of_head: tuple[str, ...] = ()
    disregarded: tuple[Disregarded, ...] = ()


def approvals(reviews: Sequence[PullRequestReview], head: str, author: str) -> Approvals:
    """Return who approves the head by their latest verdict. ``reviews`` are the oldest first.

    A mere comment leaves an earlier verdict as it is. The author's own approval, and those of other commits, do not
    count.
    """
    reasons = [(review, _reason(review, head, author)) for review in _approving(reviews)]
    return Approvals(
        tuple(review.by for review, reason in reasons if not reason),
        tuple(Disregarded(review.by, reason) for review, reason in reasons if reason),
    )


def outdated(reviews: Sequence[PullRequestReview], head: str, author: str) -> tuple[PullRequestReview, ...]:
    """Return the approvals of other commits than the head that are their authors' latest verdicts."""
    approving = _approving(reviews)
    return tuple(each for each in approving if each.sha != head and each.by.casefold() != author.casefold())


def refused(layers: Iterable[TemporaryLayer]) -> tuple[HeldPolicySet, ...]:
    """Return the sets, each once, that refuse a plan: only of these it matters who approves."""
    found = {
        held.name: held
        for layer in layers
        for held in layer.policy_sets
        if any(verdict.failed for verdict in layer.verdicts if verdict.policy_set == held.name)
    }
    return tuple(found.values())


def standings(
    layers: Sequence[TemporaryLayer], head: str, given: Approvals, people: Mapping[str, Person]
) -> tuple[Standing, ...]:
    """Return where each set stands that layers are held against, by its name.

    ``people`` are those who approve the head, by their names as in ``given``; who is not known there is no owner.
    """
    sets = {held.name: held for layer in layers for held in layer.policy_sets}
    return tuple(_standing(sets[name], layers, head, given, people) for name in sorted(sets))


def _approving(reviews: Sequence[PullRequestReview]) -> list[PullRequestReview]:
    latest: dict[str, PullRequestReview] = {}
    for review in reviews:
        if review.verdict is not ReviewVerdict.COMMENTED:
            latest[review.by.casefold()] = review
    return [review for review in latest.values() if review.verdict is ReviewVerdict.APPROVED]


def _reason(review: PullRequestReview, head: str, author: str) -> str:
    if review.by.casefold() == author.casefold():
        return "is the author of the pull request"
    if review.sha != head:
        return f"approved {review.sha[:7]}, which is not the head any more"
    return ""


def _standing(
    held: HeldPolicySet,
    layers: Sequence[TemporaryLayer],
    head: str,
    given: Approvals,
    people: Mapping[str, Person],
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
    others = tuple(Disregarded(login, "is not among its owners") for login in given.of_head if login not in owners)
    state = _state(held, [verdict for _, verdict in judged], missing, len(owners))
    return Standing(held, state, head, tuple(judged), tuple(missing), owners, (*given.disregarded, *others))


def _is_awaited(layer: TemporaryLayer) -> bool:
    """Tell whether a layer may still have a verdict. One of a plan with options is none on the whole."""
    return not layer.is_done or (layer.plan is not None and layer.state is not LayerState.FAILED and not layer.options)


def _is_owner(held: HeldPolicySet, person: Person | None) -> bool:
    return person is not None and any(matches(each, person) for each in held.owners)


def _state(
    held: HeldPolicySet, verdicts: Sequence[PolicyVerdict], missing: Sequence[TemporaryLayer], approved: int
) -> SetState:
    fails = any(verdict.failed for verdict in verdicts)
    if fails and approved < held.approvals:
        return SetState.FAILED
    if any(_is_awaited(layer) for layer in missing):
        return SetState.WAITING
    if missing:
        return SetState.UNKNOWN
    if fails:
        return SetState.APPROVED
    return SetState.WARNED if any(verdict.warned for verdict in verdicts) else SetState.PASSED

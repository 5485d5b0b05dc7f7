"""Texts about plans that wait for a slot: how many, and behind what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tidegate.deploys.rules.plan_slots import SlotUsage, in_order
from tidegate.deploys.rules.slots import busy_words
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.texts.presentation import many
from tidegate.texts.sentences import listed
from tidegate.vcs.rules.forge_terms import ForgeTerms

#: Pull requests and schedules that a sentence names.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class WaitingPlans:
    """Those of some layers that wait for a place. ``reasons`` has a sentence for each, by its id.

    ``behind`` says what has the places, and ends a sentence.
    """

    behind: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.reasons)

    def __str__(self) -> str:
        """Return one sentence about all of them, empty if there are none."""
        if not self.reasons:
            return ""
        verb = "waits" if len(self) == 1 else "wait"
        return f"{many(len(self), 'plan')} {verb} for a concurrency slot: {self.behind}."


NOBODY_WAITS = WaitingPlans()


def waiting_plans(
    places: SlotUsage, layers: Collection[str], holders: Iterable[SpeculativePlan], terms: ForgeTerms
) -> WaitingPlans:
    """Return what there is to say of these layers. ``holders`` are the layers that have a place."""
    behind = f"{many(len(places.held), 'plan')} of the repository {_verb(places)} running{_of(holders, terms)}"
    reasons = {
        each: f"Waiting for a concurrency slot{_after(before)}: {behind}."
        for before, each in enumerate(places.line)
        if each in layers
    }
    return WaitingPlans(behind, reasons) if reasons else NOBODY_WAITS


def waiting_for_slots(slots: SlotUsage, layers: Collection[str], limit: int, found: WaitingPlans) -> WaitingPlans:
    """Return what was found, with those of the layers that wait for a slot of the installation."""
    busy = busy_words(len(slots.held), limit)
    reasons = {
        each: f"Waiting for a concurrency slot of the installation: {busy}, position {position}."
        for position, each in enumerate(in_order(slots), 1)
        if each in layers
    }
    return WaitingPlans(found.behind or busy, {**found.reasons, **reasons}) if reasons else found


def _verb(places: SlotUsage) -> str:
    return "is" if len(places.held) == 1 else "are"


def _after(before: int) -> str:
    return f", behind {many(before, 'other')}" if before else ", next in the queue"


def _of(holders: Iterable[SpeculativePlan], terms: ForgeTerms) -> str:
    """Return whose plans they are."""
    found = {(each.pull_request, each.schedule) for each in holders}
    names = [f"the schedule {schedule}" if schedule else terms.reference(number) for number, schedule in sorted(found)]
    return f", of {listed(names, _NAMED)}" if names else ""

"""The places for speculative plans of each repository."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.plan_slots import Precedence, SlotUsage


class PlanSlots(Protocol):
    """The places. Layers are named by their ids; nobody has a place in a repository that was never written.

    Each call is one atomic change, by the rules of ``deploys/rules/plan_slots.py``; doing it again is harmless.
    """

    def read(self, repository: str) -> SlotUsage:
        """Return the places of a repository."""

    def take(self, repository: str, layer: str, limit: int) -> SlotUsage:
        """Let a layer have a place if one of ``limit`` is free and nobody waits. Return the places as they are then.

        Unless the layer is among those that have one, there was none for it.
        """

    def join(self, repository: str, layer: str, precedence: Precedence = ...) -> SlotUsage:
        """Put a layer at the end of the line, unless it waits or has a place. Return the places as they are then."""

    def hand_over(self, repository: str, layer: str, limit: int) -> bool:
        """Give a place to a layer if it is its turn and a place is free. Return whether this did it.

        While others change the line, nothing may be done: read it, and try again.
        """

    def leave(self, repository: str, layers: Collection[str]) -> SlotUsage:
        """Release the slots, and the positions in the queue, of layers; return the slots as they are then.

        Raise Conflict when others change the line.
        """

    def free(self, seen: SlotUsage, layer: str) -> SlotUsage:
        """Take the place, or the place queued, from a layer unless places changed hands since they were ``seen``.

        Return the places as they are then. Raise Conflict when others took a place, or changed the line, meanwhile.
        """

    def keep_token(self, repository: str, layer: str, token: str, attempt: str = "") -> bool:
        """Keep the task token with which a layer waits, of two that of the later attempt. Return whether it is kept."""

    def token(self, repository: str, layer: str) -> str:
        """Return the task token that was kept for a layer. Raise NotFound."""

    def busy(self) -> Iterable[str]:
        """Return the repositories in which somebody has a place or waits for one, and some that have become quiet."""

    def rest(self, repository: str) -> None:
        """Strike a repository off those that are busy, if it is quiet."""

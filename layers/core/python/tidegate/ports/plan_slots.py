"""Concurrency slots for the speculative plans of each repository."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.plan_slots import Precedence, SlotUsage


class PlanSlots(Protocol):
    """The slots. Layers are named by their ids; an unwritten repository has no holders.

    Each call is one atomic change, by the rules of ``deploys/rules/plan_slots.py``; a repeated call is harmless.
    """

    def read(self, repository: str) -> SlotUsage:
        """Return the slots of a repository."""

    def take(self, repository: str, layer: str, limit: int) -> SlotUsage:
        """Give a layer a slot if one of ``limit`` is free and nobody waits. Return the resulting slots.

        If the layer is not among the holders, none was free.
        """

    def join(self, repository: str, layer: str, precedence: Precedence = ...) -> SlotUsage:
        """Add a layer to the end of the line, unless it waits or has a slot. Return the resulting slots."""

    def hand_over(self, repository: str, layer: str, limit: int) -> bool:
        """Give a slot to a layer if it is next and a slot is free. Return whether this did it.

        Under concurrent changes, nothing may happen: read the line, and try again.
        """

    def leave(self, repository: str, layers: Collection[str]) -> SlotUsage:
        """Release the slots, and the positions in the line, of layers; return the resulting slots.

        Raise Conflict after concurrent changes of the line.
        """

    def free(self, seen: SlotUsage, layer: str) -> SlotUsage:
        """Release a layer's slot or position unless slots changed hands since they were ``seen``.

        Return the resulting slots. Raise Conflict if others took a slot, or changed the line, meanwhile.
        """

    def keep_token(self, repository: str, layer: str, token: str, attempt: str = "") -> bool:
        """Store the task token with which a layer waits; the later attempt's wins. Return whether it is stored."""

    def token(self, repository: str, layer: str) -> str:
        """Return the stored task token of a layer. Raise NotFound."""

    def busy(self) -> Iterable[str]:
        """Return the repositories with holders or waiting layers, and some that have become idle."""

    def rest(self, repository: str) -> None:
        """Remove a repository from the busy ones, if it is idle."""

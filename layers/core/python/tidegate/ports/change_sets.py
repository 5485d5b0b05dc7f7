"""Deployments of one change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.changes.rules.wave import Wave


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The newest deployment of one root in one stack of a change set. ``requested_at`` is that deployment's."""

    root: str
    stack: str
    deployment: str
    requested_at: datetime


class ChangeSets(Protocol):
    """The change sets: one record for each root in a stack, as a change may have thousands."""

    def enroll(self, change_set: str, deployments: Sequence[Enrolled]) -> None:
        """Add deployments, all before the first of them is enqueued. A newer one replaces an older one.

        A repeated or older one changes nothing.
        """

    def deployments(self, change_set: str) -> Sequence[Enrolled]:
        """Return all, by stack and root, with a consistent read."""

    def wave(self, change_set: str, stack: str) -> Wave:
        """Return a stack of a change as it is rolled out, with a consistent read; a new one if none is stored."""

    def waves(self, change_set: str) -> Sequence[Wave]:
        """Return all stored ones of a change, by stack, with a consistent read."""

    def save_wave(self, wave: Wave) -> Wave:
        """Store a wave that is based on the newest; return it as stored. Raise Conflict if it is not."""

"""The records of pull requests, and their speculative plans."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from datetime import datetime

    from tidegate.deploys.rules.speculative_plan import SpeculativePlan
    from tidegate.pull_requests.rules.record import PullRequestRecord


class PullRequests(Protocol):
    """The records. An unwritten one has version 0."""

    def get(self, repository: str, number: int) -> PullRequestRecord:
        """Return the record. Raise NotFound."""

    def save(self, record: PullRequestRecord) -> PullRequestRecord:
        """Write the record if the stored one still has its version (0: there is none); return it with its new version.

        Raise Conflict.
        """

    def opened(self) -> Iterable[tuple[str, int]]:
        """Return repository and number of all open ones (for the reconciler and lists), oldest first."""

    def newest(self) -> Sequence[tuple[datetime, str, int]]:
        """Return when each open one was opened, its repository and its number, newest first."""

    def deploying(self) -> Iterable[tuple[str, int]]:
        """Return repository and number of merged ones whose comments still show deployments."""

    def many(self, pull_requests: Collection[tuple[str, int]]) -> Sequence[PullRequestRecord]:
        """Return those that exist, by repository and number."""


class SpeculativePlans(Protocol):
    """The speculative plans."""

    def create(self, layers: Sequence[SpeculativePlan]) -> None:
        """Store layers; existing ids stay unchanged."""

    def get(self, layer: str) -> SpeculativePlan:
        """Return a layer. Raise NotFound."""

    def save(self, layer: SpeculativePlan) -> SpeculativePlan:
        """Replace the layer if it still has this ``version``; return it with its new version. Raise Conflict."""

    def many(self, layers: Collection[str]) -> Sequence[SpeculativePlan]:
        """Return those that exist, by stack and root."""

    def remove(self, layers: Collection[str]) -> None:
        """Remove layers; those that are gone already count as removed."""

"""Check runs, and the positions that they show."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.queue_snapshot import Shown


@dataclass(frozen=True, slots=True)
class PublishedCheckRun:
    """The current check run of a deployment at the VCS provider, and its content.

    ``closed`` tells that it is completed: to show progress again, a new one is created. ``digest`` is of its content,
    and ``repeated_by`` the deployment that runs this one again. ``answer`` says why a request had no effect, in the
    state ``answered_in``: later states do not show it. ``noted`` are digests of its annotations.
    """

    deployment: str
    id: int
    shown_version: int
    closed: bool
    digest: str = ""
    repeated_by: str = ""
    answer: str = ""
    answered_in: str = ""
    noted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """What check runs of a queue were asked to show, by deployment, and when the next refresh is."""

    shown: Mapping[str, Shown]
    again: datetime | None = None


class CheckRuns(Protocol):
    """The check run of each deployment."""

    def published(self, deployment: str) -> PublishedCheckRun | None:
        """Return what is shown, or None if nothing is yet."""

    def remember(self, published: PublishedCheckRun) -> None:
        """Store what is shown now."""

    def many(self, deployments: Collection[str]) -> Mapping[str, PublishedCheckRun]:
        """Return what is shown of each of these, by deployment, in one read for each hundred."""


class QueueSnapshots(Protocol):
    """What check runs of a queue were asked to show."""

    def read(self, queue: str) -> QueueSnapshot:
        """Return all of a queue, in one read."""

    def shown(self, queue: str, deployment: str) -> Shown | None:
        """Return what one check run was asked to show."""

    def write(self, queue: str, shown: Mapping[str, Shown], gone: Collection[str]) -> None:
        """Store what these deployments' check runs were asked to show, and delete those that are gone."""

    def expect(self, queue: str, again: datetime) -> None:
        """Remember when somebody looks at the line again."""

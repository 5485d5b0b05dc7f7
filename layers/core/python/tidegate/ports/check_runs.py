"""What check runs show, and what those of a line were asked to show."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.queue_snapshot import Shown


@dataclass(frozen=True, slots=True)
class PublishedCheckRun:
    """The check run on the forge that shows a deployment now, and what it shows.

    ``closed`` tells that the forge shows it as completed: to show progress again, a new one is made.
    ``digest`` is of all that it shows, and ``repeated_by`` the deployment that runs this one again. ``answer`` says why
    what somebody asked for had no effect, in the state ``answered_in``: later ones do not show it. ``noted`` are
    digests of the annotations that it has.
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
    """What check runs were asked to show of a queue's line, by deployment, and when somebody looks at it again."""

    shown: Mapping[str, Shown]
    again: datetime | None = None


class CheckRuns(Protocol):
    """Which check run shows which deployment."""

    def published(self, deployment: str) -> PublishedCheckRun | None:
        """Return what is shown, or None when nothing was shown yet."""

    def remember(self, published: PublishedCheckRun) -> None:
        """Store what is shown now."""

    def many(self, deployments: Collection[str]) -> Mapping[str, PublishedCheckRun]:
        """Return what is shown of each of these of which anything is, by deployment, in one read for each hundred."""


class QueueSnapshots(Protocol):
    """What the check runs of a queue were asked to show of its line."""

    def read(self, queue: str) -> QueueSnapshot:
        """Return all of a queue, in one read."""

    def shown(self, queue: str, deployment: str) -> Shown | None:
        """Return what one check run was asked to show."""

    def write(self, queue: str, shown: Mapping[str, Shown], gone: Collection[str]) -> None:
        """Store what these deployments' check runs were asked to show, and forget those that are gone."""

    def expect(self, queue: str, again: datetime) -> None:
        """Remember when somebody looks at the line again."""

"""A push to the default branch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.rules.actor import TIDEGATE


@dataclass(frozen=True, slots=True)
class Push:
    """A push to the default branch, as the delivery tells it.

    ``authors`` are the logins of those who made the commits, ``forced`` whether it was forced; None when that is not
    known yet. ``told`` is whether a webhook told of it, ``sender_known`` whether ``sender`` is who made it. ``lost`` is
    the commit at which pushes before it begin that nobody told of: what it deploys may contain them. ``project`` is the
    number that webhooks name the repository by where they are verified, else 0.
    """

    delivery: str
    repository: str
    before: str
    after: str
    branch: str
    received_at: datetime
    sender: str = TIDEGATE
    forced: bool | None = False
    authors: tuple[str, ...] | None = None
    told: bool = True
    sender_known: bool = True
    lost: str = ""
    project: int = 0

    @property
    def pushed(self) -> tuple[Pushed, ...]:
        """What it brings to the branch, and what was brought before it that nobody told of."""
        lost = (Pushed(self.lost, self.before, self.branch),) if self.lost else ()
        return (*lost, Pushed(self.before, self.after, self.branch))

    def by(self, sender: str | None) -> Push:
        """Return the push as made by somebody, None for nobody knows whom."""
        return replace(self, sender=sender or TIDEGATE, sender_known=sender is not None)


@dataclass(frozen=True, slots=True)
class Pushed:
    """Commits that came to a branch: all that ``after`` has and ``before`` has not. ``before`` is empty if unknown.

    ``altered`` are those by which pull requests were merged, and that hold more than git makes of branch and head.
    """

    before: str
    after: str
    branch: str
    altered: tuple[str, ...] = ()

"""A push to the default branch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.rules.actor import TIDEGATE


@dataclass(frozen=True, slots=True)
class Push:
    """A push to the default branch.

    ``authors`` are the logins of the commits' authors, ``forced`` whether it was forced; None if unknown. ``told`` is
    whether a webhook announced it, ``sender_known`` whether ``sender`` pushed it. ``lost`` is the commit after which
    earlier pushes are unknown: this push may contain them. ``project`` is the repository's number in webhooks where
    these are verified, else 0.
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
        """Its commits, and earlier ones of unknown pushes."""
        lost = (Pushed(self.lost, self.before, self.branch),) if self.lost else ()
        return (*lost, Pushed(self.before, self.after, self.branch))

    def by(self, sender: str | None) -> Push:
        """Return the push with its pusher, None if unknown."""
        return replace(self, sender=sender or TIDEGATE, sender_known=sender is not None)


@dataclass(frozen=True, slots=True)
class Pushed:
    """Commits that came to a branch: all in ``after`` and not in ``before``. ``before`` is empty if unknown.

    ``altered`` are merge commits that contain more than git's merge of branch and head.
    """

    before: str
    after: str
    branch: str
    altered: tuple[str, ...] = ()

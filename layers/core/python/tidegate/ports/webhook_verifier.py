"""What the forge itself says of what a webhook told, where nothing in the webhook shows that the forge sent it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WrittenComment:
    """A comment as the forge has it."""

    author: str
    text: str
    written_at: datetime
    edited_at: datetime


@dataclass(frozen=True, slots=True)
class Pushed:
    """A commit that is on a branch: who pushed it there, and where the branch was before.

    Both are None when the forge does not tell, the latter also when there was no branch before.
    """

    by: str | None
    before: str | None = None


class WebhookVerifier(Protocol):
    """Raises ForgeUnavailable and ForgeRefused.

    ``project`` is the number that the webhook told: at one path there may have been several projects.
    """

    def written_comment(self, project: int, repository: str, pull_request: int, comment: int) -> WrittenComment | None:
        """Return what a person wrote under a pull request, in one call; None when there is no such comment there."""

    def pushed(self, project: int, repository: str, branch: str, commit: str) -> Pushed | None:
        """Return who pushed a commit to the default branch.

        None when the repository is not called so, the branch is not its default branch, or does not have the commit.
        """

    def pusher(self, project: int, repository: str, commit: str) -> str | None:
        """Return who pushed a commit as the head of any branch; None if that is not among the newest pushes."""

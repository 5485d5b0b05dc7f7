"""Verification of unsigned webhooks through the VCS provider's API."""

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
    """A commit on a branch: who pushed it, and the branch's previous commit.

    Both are None if unknown, the latter also if the branch is new.
    """

    by: str | None
    before: str | None = None


class WebhookVerifier(Protocol):
    """Raises ForgeUnavailable and ForgeRefused.

    ``project`` is the number in the webhook: several projects may have had one path.
    """

    def written_comment(self, project: int, repository: str, pull_request: int, comment: int) -> WrittenComment | None:
        """Return a person's comment on a pull request, in one call; None if there is no such comment."""

    def pushed(self, project: int, repository: str, branch: str, commit: str) -> Pushed | None:
        """Return who pushed a commit to the default branch.

        None if the repository has another name, the branch is not its default branch, or lacks the commit.
        """

    def pusher(self, project: int, repository: str, commit: str) -> str | None:
        """Return who pushed a commit as the head of any branch; None if that is not among the newest pushes."""

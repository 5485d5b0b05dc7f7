"""What CI reports of a commit: commit statuses and check runs, in one form."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Source(StrEnum):
    """Which of the two systems reports a check."""

    STATUS = "status"
    CHECK_RUN = "check_run"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What one App reports of one check of a commit. ``number`` grows with each report of it.

    ``app`` is the App's name, or ``@`` and the login of a user who has set a status
    (docs/decisions/0244). ``result`` is a status's state, or
    a check run's conclusion, or its status while it has none, in the words of GitHub's REST API.
    """

    source: Source
    name: str
    app: str
    result: str
    number: int
    started_at: datetime | None = None

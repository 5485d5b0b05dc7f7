"""Find the record of a pull request."""

from __future__ import annotations

from tidegate.ports import Ports
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.errors import NotFound


def known_record(ports: Ports, repository: str, number: int) -> PullRequestRecord | None:
    """Return the record, None if there is none."""
    try:
        return ports.pull_requests.get(repository, number)
    except NotFound:
        return None


def record_of(ports: Ports, pull_request: str) -> PullRequestRecord | None:
    """Return the record of ``OWNER/REPO#NUMBER``, None if there is none."""
    repository, _, number = pull_request.rpartition("#")
    return known_record(ports, repository, int(number))

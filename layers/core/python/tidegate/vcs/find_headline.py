"""Find what a change is, at the VCS provider, once: it is stored with the change's deployments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tidegate.ports import Ports, PullRequestReader
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, NotFound
from tidegate.vcs.rules.headline import Headline, with_pull_request
from tidegate.vcs.rules.pull_request import PullRequestSpec

_Answer = TypeVar("_Answer")


def find_headline(ports: Ports, repository: str, sha: str, number: int | None = None) -> Headline:
    """Return the headline of a commit: of the pull request ``number``, or else of the one that it was merged with.

    What the VCS provider does not know now stays empty: no deployment waits for it.
    """
    commit = _known(lambda: ports.commits.headline(repository, sha)) or Headline()
    found = _known(lambda: _pull_request(ports.pull_request_reader, repository, sha, number))
    if found is None:
        return commit
    return with_pull_request(commit, found.number, found.title, found.author, found.avatar)


def _pull_request(reader: PullRequestReader, repository: str, sha: str, number: int | None) -> PullRequestSpec | None:
    if number is not None:
        return reader.seen_pull_request(repository, number).spec
    merged = [each for each in reader.pull_requests_of(repository, sha) if each.merged]
    first = min(merged, key=lambda each: (each.merge_sha != sha, each.spec.number), default=None)
    return first.spec if first else None


def _known(ask: Callable[[], _Answer]) -> _Answer | None:
    try:
        return ask()
    except (NotFound, ForgeRefused, ForgeUnavailable):
        return None

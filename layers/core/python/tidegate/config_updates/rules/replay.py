"""A replay: the entries of an auto branch, rebuilt as commits on a base. Conflicts are impossible by design.

An entry is not what a commit changed, but what was asked for: an image set, or a file of an earlier commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tidegate.config.rules.config_updates import UpdateCommands
from tidegate.config_updates.rules.trailers import Trailers

#: The file that grants rights. Tidegate may push without a review, so no entry may change it, whatever a command does.
RIGHTS = "tidegate.yaml"


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit to make. ``file`` is the environment's, from the repository's top.

    ``images`` is the text of an announced image set. Without it, the entry is a promotion or a rollback: the file
    ``copied`` is taken as it is in the commit ``source_sha`` of the trailers.
    """

    trailers: Trailers
    authored: datetime
    file: str
    images: str = ""
    copied: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """What to replay: the entries from the lowest, on a commit of the default branch."""

    base: str
    entries: tuple[Entry, ...]
    commands: UpdateCommands = field(default_factory=UpdateCommands)


def order_key(job: str) -> str:
    """Return where a job's replay is stored in the artifact bucket."""
    return f"replays/{job}/order.json"


def result_key(job: str) -> str:
    """Return where what became of a job's replay is stored."""
    return f"replays/{job}/result.json"


def bundle_key(job: str) -> str:
    """Return where the new commits of a job's replay are stored."""
    return f"replays/{job}/commits.bundle"


class State(StrEnum):
    """What became of an entry. ``NOOP`` changes nothing: the base has these images already."""

    COMMITTED = "committed"
    NOOP = "noop"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the entry ``id``: a commit ``sha``, or a ``reason`` with the last lines of what was printed."""

    id: str
    state: State
    sha: str = ""
    reason: str = ""
    last_lines: str = ""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The outcome of each entry, in their order. ``tip`` is the base where no commit was made.

    Entries at the end without an outcome were not reached within the time limit: they stay in the queue.
    """

    tip: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Author:
    """Who Tidegate's commits are by: author and committer."""

    name: str = "Tidegate"
    email: str = "tidegate@localhost"


@dataclass(frozen=True, slots=True)
class NewCommits:
    """What a replay says to have made: its commits with the trailers of their entries, from the lowest."""

    base: str
    commits: tuple[tuple[str, Trailers], ...]
    author: Author = Author()

    @property
    def tip(self) -> str:
        """The highest commit, the base where none was made."""
        return self.commits[-1][0] if self.commits else self.base


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as git tells it. ``people`` are its author and its committer."""

    sha: str
    parents: tuple[str, ...]
    people: tuple[Author, Author]
    message: str


def chain_problem(base: str, commits: Sequence[Commit], expected: Sequence[tuple[str, str]], by: Author) -> str | None:
    """Return why commits, from the lowest, are not the expected ones on the base, as a sentence; None if they are.

    ``expected`` are their SHAs and their whole messages, trailers included.
    """
    if len(commits) != len(expected):
        return f"There are {len(commits)} commits where {len(expected)} were expected."
    below = base
    for commit, (sha, message) in zip(commits, expected, strict=True):
        if commit.sha != sha:
            return f"There is the commit {commit.sha} where {sha} was expected."
        if commit.parents != (below,):
            return f"The commit {commit.sha} does not follow {below} alone."
        if commit.message.rstrip("\n") != message.rstrip("\n"):
            return f"The commit {commit.sha} has a different message than its entry."
        if commit.people != (by, by):
            return f"The commit {commit.sha} was not made by Tidegate."
        below = commit.sha
    return None

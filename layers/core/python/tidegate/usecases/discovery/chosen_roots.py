"""Which roots a comment is about: those that the pull request changes, or those that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.domain.comments import replies
from tidegate.usecases.discovery.discover_roots import all_roots, discover_roots
from tidegate.usecases.discovery.repository_source import Granted, RepositorySource
from tidegate.usecases.discovery.root_index import Deployable


@dataclass(frozen=True, slots=True)
class Head:
    """A head of a repository (installation, and name on the forge), and the commit that its own commits come after."""

    where: tuple[int, str]
    sha: str
    after: str


def chosen_roots(
    source: RepositorySource, head: Head, granted: Granted, *, names: Sequence[str], by_hand: bool
) -> tuple[Deployable, ...] | str:
    """Return what a head deploys, or in Markdown why it is nothing.

    ``names`` are roots, all that it changes if there are none; ``by_hand`` is as for ``discover_roots``. Raise
    InvalidConfiguration, CyclicChange, NotFound, ForgeUnavailable and ForgeRefused.
    """
    reading = source.reading(head.where[1], granted)
    with source.fetch(*head.where, head.sha, head.after) as trees:
        if not names:
            found = discover_roots(trees, reading, by_hand=by_hand)
            return found.members or replies.nothing_changed(found.notes + found.refused)
        known = all_roots(trees, reading)
    unknown = [name for name in names if name not in known.names]
    if unknown:
        return replies.unknown_roots(unknown, known.names)
    problems = known.problems(names)
    return replies.roots_refused(problems) if problems else known.named(names)

"""Find the roots that a comment means: those that the pull request changes, or those that it names."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.discovery.discover_roots import all_roots, discover_roots
from tidegate.discovery.repository_source import Granted, fetch_commit, reading_of
from tidegate.discovery.root_index import Deployable
from tidegate.discovery.texts import chosen_roots as chosen_roots_texts
from tidegate.ports import Ports
from tidegate.roots.rules.plan_request import PlanRequest


@dataclass(frozen=True, slots=True)
class Head:
    """A head of a repository, and the base of its own commits."""

    repository: str
    sha: str
    after: str


def chosen_roots(
    ports: Ports, head: Head, granted: Granted, request: PlanRequest, *, by_hand: bool
) -> tuple[Deployable, ...] | str:
    """Return what a head deploys, or in Markdown why nothing.

    ``request`` names roots, or selects changed ones by directory or tag; without either, it means all changed roots.
    ``by_hand`` is as for ``discover_roots``. Raise InvalidConfiguration, CyclicChange, NotFound, ForgeUnavailable and
    ForgeRefused.
    """
    reading = reading_of(ports, head.repository, granted)
    with fetch_commit(ports, head.repository, head.sha, head.after) as trees:
        found = discover_roots(trees, reading, by_hand=by_hand) if request.asks_for_changed else None
        if found is not None and not request.is_partial:
            return found.members or chosen_roots_texts.nothing_changed(found.notes + found.refused)
        known = found.all_roots if found else all_roots(trees, reading)
    changed = [each.configured for each in found.members] if found else []
    unknown = [name for name in request.roots if name not in known.names]
    if unknown:
        return chosen_roots_texts.unknown_roots(unknown, known.names)
    if problems := known.problems(request.roots):
        return chosen_roots_texts.roots_refused(problems)
    named = [each for each in known.configured.roots if each.root.name in request.roots]
    meant = [each for each in changed if request.chooses(each.root.name, each.tagged)]
    if not (named or meant):
        return chosen_roots_texts.nothing_meant(request, [each.candidate for each in changed], "deployed")
    return known.chosen({each.key for each in (*named, *meant)})

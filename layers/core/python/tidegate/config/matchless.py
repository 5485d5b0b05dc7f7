"""Parts of a configuration that match nothing in a commit, and so protect, order or permit nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain, islice, product

from tidegate.config.configured import ConfiguredRoots
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.model.file import FILE
from tidegate.config.refusals import MOST_LISTED
from tidegate.config.rules.config_updates import environment_tags
from tidegate.policies.rules.files import is_below
from tidegate.policies.rules.policy_set import PolicySource
from tidegate.roots.rules.nearest import nearest
from tidegate.roots.rules.root_query import TagQuery, parse_tag_query
from tidegate.roots.rules.terms import Tag, Tagged
from tidegate.rules.errors import quoted

#: Prefixes of tags that depend on a change's source and target branch.
_BRANCH, _DESTINATION = "branch:", "dest_branch:"


def _not_told(_query: TagQuery) -> bool:
    return False


def matchless(
    loaded: LoadedConfiguration,
    configured: ConfiguredRoots,
    files: Collection[str],
    told: Callable[[TagQuery], bool] = _not_told,
) -> tuple[str, ...]:
    """Return sentences on queries that match no root, policy directories without policies, and unknown destinations.

    Environments of image sets count as well, and refused roots where they would be if valid. ``files`` are the paths of
    the commit. ``told`` tells which queries have been reported elsewhere.
    """
    places = [*(each.tagged for each in configured.roots), *(each.tagged for each in configured.held_back)]
    sets = loaded.config_updates.sets if loaded.config_updates else ()
    places += [environment_tags(each.name, one.name, one.file) for each in sets for one in each.environments]
    found = chain(_queries(loaded, places, told) if places else (), _directories(loaded, files), _destinations(loaded))
    return tuple(f"{FILE}:{line}: {sentence}" for line, sentence in islice(sorted(found), MOST_LISTED))


def _queries(
    loaded: LoadedConfiguration, places: Sequence[Tagged], told: Callable[[TagQuery], bool]
) -> Iterator[tuple[int, str]]:
    tags = frozenset(tag for place in places for tag in place.tags)
    fits = _fits(loaded, places, tags)
    for key, line, query, effect in _asked(loaded):
        if not fits(query) and not told(query):
            known = {*tags, *(tag for _, tag in _of_branches(loaded))}
            yield (
                line,
                f"{key}: the tag query {quoted(query.text)} matches no root, so {effect}.{_meant(query, known)}",
            )


def _asked(loaded: LoadedConfiguration) -> Iterator[tuple[str, int, TagQuery, str]]:
    """Yield each query that selects roots for a section, and the consequence if there are none."""
    for check in loaded.checks or ():
        yield "apply_requirements", check.line, check.query, "this check requires nothing"
    for policy in loaded.policies or ():
        yield "access_control", policy.line, policy.query, "this policy has no effect"
    for workflow in loaded.workflows:
        yield "workflows", workflow.line, workflow.query, "this workflow never runs"
    for schedule in loaded.drift.schedules:
        yield (
            f"drift.schedules.{schedule.name}",
            schedule.line,
            schedule.query,
            "this schedule checks no root for drift",
        )
    for freeze in loaded.freezes:
        yield "freeze", freeze.line, parse_tag_query(freeze.query), "this freeze has no effect"
    for each in loaded.notifications:
        yield "notifications", each.line, parse_tag_query(each.query), "nobody is notified of anything"
    for held in loaded.policy_sets:
        yield f"policy_sets.{held.name}", held.line, held.query, "this policy set checks no plan"


def _fits(loaded: LoadedConfiguration, places: Sequence[Tagged], tags: Collection[str]) -> Callable[[TagQuery], bool]:
    """Return a function that tells whether a query matches a root for any source and target branch."""
    sources = ["", *(tag for kind, tag in _of_branches(loaded) if kind == _BRANCH)]
    destinations = ["", *(tag for kind, tag in _of_branches(loaded) if kind == _DESTINATION)]
    plain = [_without_branches(each) for each in places]

    def fits(query: TagQuery) -> bool:
        if not any(tag.startswith((_BRANCH, _DESTINATION)) for tag in query.tags):
            return query.term.name in tags if isinstance(query.term, Tag) else any(map(query.matches, plain))
        return any(
            query.matches(Tagged(place.directory, place.tags | set(filter(None, both))))
            for both in product(sources, destinations)
            for place in plain
        )

    return fits


def _of_branches(loaded: LoadedConfiguration) -> Iterator[tuple[str, str]]:
    yield from ((_BRANCH, f"{_BRANCH}{name}") for name, _ in loaded.branch_tags)
    yield from ((_DESTINATION, f"{_DESTINATION}{name}") for name, _ in loaded.dest_branch_tags)


def _without_branches(place: Tagged) -> Tagged:
    tags = (tag for tag in place.tags if not tag.startswith((_BRANCH, _DESTINATION)))
    return Tagged(place.directory, frozenset(tags))


def _meant(query: TagQuery, known: Collection[str]) -> str:
    """Return similar tags for those that no root has."""
    near = ((tag, nearest(tag, sorted(known))) for tag in query.tags if tag not in known)
    return "".join(f" No root has the tag {quoted(tag)}. Did you mean {quoted(found)}?" for tag, found in near if found)


def _destinations(loaded: LoadedConfiguration) -> Iterator[tuple[int, str]]:
    """Yield a sentence for each destination that this repository cannot use.

    It is no mistake of the file, as a destination can be removed while files name it: no deploy stops for that.
    """
    named = {name: each.line for each in loaded.notifications for name in each.destinations}
    for name, problem in (loaded.undelivered or {}).items():
        yield named[name], f"notifications: {problem}"


def _directories(loaded: LoadedConfiguration, files: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield a sentence for each directory of a policy set that contains no policy."""
    sets = [each for each in loaded.policy_sets if each.source is PolicySource.REPOSITORY]
    policies = [path for path in files if path.endswith(".rego")] if sets else []
    for held in sets:
        for path in held.paths:
            if not any(is_below(each, path) for each in policies):
                near = nearest(path, sorted({each.rpartition("/")[0] for each in policies}))
                advice = f"Did you mean {quoted(near)}?" if near else "Correct the path, or add policies there."
                what = f"the directory {quoted(path)} has no policy (*.rego), so it checks nothing"
                yield held.line, f"policy_sets.{held.name}: {what}. {advice}"

"""Read the queue of a config repository and its image sets, for people and programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegate.config.rules.config_updates import DeclaredImageSet
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.entry import RETRIABLE, UpdateEntry, newer_of
from tidegate.config_updates.rules.environment import EnvironmentState
from tidegate.config_updates.rules.promotion import Promotion
from tidegate.config_updates.rules.queue import OnAuto, SetState, UpdateHead, waits_for
from tidegate.ports import Ports

#: Ended entries that the queue shows.
RECENT = 20


@dataclass(frozen=True, slots=True)
class EntryView:
    """An entry, its position in the queue from 1 on (None once it has left), and what is on the auto branch of it.

    ``waits_for`` says why it does not move although its turn may come, ``can_retry`` whether this attempt of an ended
    entry can be followed by another one.
    """

    entry: UpdateEntry
    position: int | None = None
    on_auto: OnAuto | None = None
    waits_for: str = ""
    can_retry: bool = False


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue: its head, its entries, the lowest first, and those that have left it, the newest first."""

    head: UpdateHead
    entries: tuple[EntryView, ...]
    recent: tuple[EntryView, ...]


@dataclass(frozen=True, slots=True)
class EnvironmentView:
    """What is known of an environment: the open entries that go there, and the promotion of what landed last."""

    state: EnvironmentState
    coming: tuple[EntryView, ...]
    promotion: Promotion | None


@dataclass(frozen=True, slots=True)
class SetView:
    """An image set as the default branch declares it, and what is known of it."""

    declared: DeclaredImageSet
    state: SetState
    environments: tuple[EnvironmentView, ...]


def get_update_queue(ports: Ports, repository: str) -> QueueView:
    """Return the queue of a repository, an empty one where there is none."""
    head = ports.config_updates.head(repository)
    known = ports.config_updates.entries(repository, head.open)
    recent = ports.config_updates.history(repository, RECENT)
    newest = [each.newest.entry for each in ports.config_updates.environments(repository) if each.newest]
    landed = ports.config_updates.entries(repository, list(filter(None, newest)))
    return QueueView(head, tuple(_views(head, known)), tuple(_ended(head, known, recent, landed.values())))


def get_entry(ports: Ports, repository: str, entry: str) -> EntryView:
    """Return an entry. Raise NotFound."""
    found = ports.config_updates.entry(repository, entry)
    head = ports.config_updates.head(repository)
    return next((each for each in _views(head, {entry: found})), EntryView(found))


def _views(head: UpdateHead, known: Mapping[str, UpdateEntry]) -> Iterator[EntryView]:
    on_auto = {each.entry: each for each in head.stack}
    for position, each in enumerate(head.open, 1):
        if each in known:
            here = on_auto.get(each)
            yield EntryView(known[each], position, here, (here.note if here else "") or waits_for(head, known[each]))


def _ended(
    head: UpdateHead, known: Mapping[str, UpdateEntry], history: Iterable[UpdateEntry], landed: Iterable[UpdateEntry]
) -> Iterator[EntryView]:
    """Yield ended attempts, the newest first.

    Only the last attempt of an entry can be retried, unless a newer entry is open or has ``landed``. An attempt has an
    older record too if a worker died between the transactions of a large step: that one is left out.
    """
    seen = {(each.id, each.attempt) for each in known.values()}
    later, others = set(head.open), [*known.values(), *landed]
    for each in history:
        if (each.id, each.attempt) in seen:
            continue
        is_last = each.state in RETRIABLE and each.id not in later
        yield EntryView(each, can_retry=is_last and newer_of(each, others) is None)
        seen.add((each.id, each.attempt))
        later.add(each.id)


def get_sets(ports: Ports, repository: str) -> Sequence[SetView]:
    """Return the image sets of a repository, as they are declared. Raise what ``current_updates`` raises."""
    return _sets(ports, repository, current_updates(ports, repository).updates.sets)


def get_set(ports: Ports, repository: str, name: str) -> SetView:
    """Return an image set. Raise UnknownImageSet, and what ``current_updates`` raises."""
    declared = current_updates(ports, repository).image_set(name)
    return _sets(ports, repository, [declared])[0]


def _sets(ports: Ports, repository: str, declared: Sequence[DeclaredImageSet]) -> Sequence[SetView]:
    return sets_in(ports, get_update_queue(ports, repository), declared)


def sets_in(ports: Ports, queue: QueueView, declared: Sequence[DeclaredImageSet]) -> Sequence[SetView]:
    """Return declared image sets with what is known of them, where their queue is known."""
    repository = queue.head.repository
    known = {(each.image_set, each.name): each for each in ports.config_updates.environments(repository)}
    promotions = ports.config_updates.open_promotions(repository)
    made = []
    for one in declared:
        views = []
        for each in one.environments:
            place = one.name, each.name
            state = known.get(place, EnvironmentState(repository, *place))
            coming = tuple(entry for entry in queue.entries if entry.entry.environment_key == place)
            views.append(EnvironmentView(state, coming, _promotion(promotions, state)))
        made.append(SetView(one, queue.head.set_state(one.name), tuple(views)))
    return made


def _promotion(promotions: Sequence[Promotion], state: EnvironmentState) -> Promotion | None:
    newest = state.newest
    found = (each for each in promotions if each.environment_key == (state.image_set, state.name))
    return next((each for each in found if newest and each.entry == newest.entry), None)

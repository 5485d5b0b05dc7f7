"""Read what runs in the environments of a config repository, since when, and what is on its way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.config.rules.config_updates import DeclaredImageSet, Environment
from tidegate.config_updates.get_entries import QueueView, get_update_queue, sets_in
from tidegate.config_updates.read_configuration import CurrentUpdates, current_updates
from tidegate.config_updates.rules.entry import UpdateEntry
from tidegate.config_updates.rules.environment import EnvironmentState, Landed
from tidegate.config_updates.rules.image_set import identity_of
from tidegate.config_updates.rules.promotion import Promotion, Stage
from tidegate.config_updates.rules.queue import Hold
from tidegate.ports import Ports


@dataclass(frozen=True, slots=True)
class ServiceImage:
    """A service's image in an environment: its tag, and the tag before, empty for a new service."""

    service: str
    tag: str
    before: str = ""

    @property
    def is_changed(self) -> bool:
        """Whether the environment's last change brought this image."""
        return self.tag != self.before


@dataclass(frozen=True, slots=True)
class EnvironmentOverview:
    """An environment: what is on the default branch for it, its services, how far its targets are, and what comes.

    ``coming`` are the open entries that go there, ``promotion`` is the newest open one of what landed. ``arriving`` is
    that of the environment before, once all targets there have deployed it: it goes here next.
    """

    declared: Environment
    state: EnvironmentState
    services: tuple[ServiceImage, ...]
    coming: tuple[UpdateEntry, ...]
    promotion: Promotion | None = None
    arriving: Promotion | None = None

    @property
    def newest(self) -> Landed | None:
        """What is on the default branch."""
        return self.state.newest

    @property
    def is_complete(self) -> bool:
        """Whether all targets run what is on the default branch."""
        return self.newest is not None and self.state.is_complete

    @property
    def reported(self) -> tuple[str, ...]:
        """The targets that run what is on the default branch."""
        return self._targets(succeeded=True)

    @property
    def failed(self) -> tuple[str, ...]:
        """The targets that could not deploy what is on the default branch."""
        return self._targets(succeeded=False)

    def _targets(self, *, succeeded: bool) -> tuple[str, ...]:
        wanted = self.newest.identity if self.newest else "", succeeded
        found = {each.target for each in self.state.reports if (each.identity, each.succeeded) == wanted}
        return tuple(each.name for each in self.declared.targets if each.name in found)


@dataclass(frozen=True, slots=True)
class SetOverview:
    """An image set and its environments, in their order."""

    declared: DeclaredImageSet
    hold: Hold | None
    environments: tuple[EnvironmentOverview, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """A config repository: what its file declares, its image sets, and its queue."""

    current: CurrentUpdates
    sets: tuple[SetOverview, ...]
    queue: QueueView


def get_overview(ports: Ports, repository: str) -> Overview:
    """Return all of a config repository. Raise what ``current_updates`` raises."""
    current = current_updates(ports, repository)
    queue = get_update_queue(ports, repository)
    sets = []
    for view in sets_in(ports, queue, current.updates.sets):
        overviews = []
        before: Promotion | None = None
        for environment, known in zip(view.declared.environments, view.environments, strict=True):
            services = _services(ports, environment, known.state)
            coming = tuple(each.entry for each in known.coming)
            arriving = before if _goes_to(before, environment.name) else None
            overviews.append(EnvironmentOverview(environment, known.state, services, coming, known.promotion, arriving))
            before = known.promotion
        sets.append(SetOverview(view.declared, view.state.hold, tuple(overviews)))
    return Overview(current, tuple(sets), queue)


def _goes_to(promotion: Promotion | None, name: str) -> bool:
    """Tell whether a promotion has an environment still before it, and nothing else."""
    if promotion is None or promotion.following is None:
        return False
    return promotion.following.name == name and promotion.stage in {Stage.SOAK, Stage.AFTER}


def _services(ports: Ports, environment: Environment, state: EnvironmentState) -> tuple[ServiceImage, ...]:
    if state.newest is None:
        return ()
    now = _tags(ports, state.repository, state.newest, environment.file)
    before = _tags(ports, state.repository, state.landed[1], environment.file) if state.landed[1:] else now
    return tuple(ServiceImage(name, tag, before.get(name, "")) for name, tag in sorted(now.items()))


def _tags(ports: Ports, repository: str, landed: Landed, file: str) -> Mapping[str, str]:
    """Return the tag of each service in an environment's file: empty for a file of another form."""
    content = ports.config_branches.file_content(repository, landed.commit, file)
    if content is None or identity_of(content) != landed.identity:
        return {}
    try:
        images = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(images, dict):
        return {}
    return {
        str(name): str(each["Tag"]).rpartition(":")[2]
        for name, each in images.items()
        if isinstance(each, dict) and "Tag" in each
    }

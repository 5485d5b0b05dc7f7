"""Check whether a person may do something with environments: by access control, as with roots.

Access control is that of the default branch's configuration. Without it, whoever has write permission may.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidegate.config_updates.read_configuration import CurrentUpdates, current_updates
from tidegate.config_updates.rules.operations import Operated, Operation
from tidegate.config_updates.rules.refusals import NoConfigUpdates, UnknownTarget
from tidegate.deploys.authorize import Asking, person_asking, refusals_of
from tidegate.ports import Ports
from tidegate.rules.access import Access
from tidegate.rules.decision import Decision


def may_operate(ports: Ports, about: Operated, login: str) -> Decision:
    """Decide whether a person may do something with environments. Raise as ``check_operation`` does."""
    return check_operation(ports, person_asking(ports, about.repository, login), about)


def check_operation(ports: Ports, asking: Asking, about: Operated) -> Decision:
    """Decide whether the requesting person may do something with all of these environments.

    Raise NotFound for an unknown entry, UnknownImageSet, UnknownEnvironment, UnknownTarget, ForgeRefused,
    ForgeUnavailable and InvalidConfiguration.
    """
    try:
        current = current_updates(ports, about.repository)
    except NoConfigUpdates:  # What is left in the queue can still be evicted.
        accesses: Mapping[str, Access | None] = {f"the config updates of {about.repository}": None}
    else:
        meant = _environments(ports, current, about)
        accesses = {f"environment {one}/{name}": current.rules(one, name).access for one, name in meant}
    refusals = refusals_of(asking, accesses, about.operation.action)
    return Decision(not refusals, " ".join(refusals))


def is_offered(asking: Asking, current: CurrentUpdates, operation: str, image_set: str = "", name: str = "") -> bool:
    """Tell whether to offer somebody an operation, by its word, in an environment, all of an image set, or all."""
    every = (
        (each.name, environment.name)
        for each in current.updates.sets
        for environment in each.environments
        if image_set in {"", each.name}
    )
    meant = [(image_set, name)] if name else every
    accesses = (current.rules(*each).access for each in meant)
    return all(asking.may(each, Operation(operation).action, "").done for each in accesses)


def _environments(ports: Ports, current: CurrentUpdates, about: Operated) -> Collection[tuple[str, str]]:
    """Return the image set and the name of each environment."""
    if about.entry:
        return [ports.config_updates.entry(current.repository, about.entry).environment_key]
    if about.environment:
        return [(about.image_set, current.environment(about.image_set, about.environment).name)]
    sets = [current.image_set(about.image_set)] if about.image_set else current.updates.sets
    every = [(each.name, environment) for each in sets for environment in each.environments]
    if not about.target:
        return [(name, environment.name) for name, environment in every]
    targets = {target.name: (name, environment.name) for name, environment in every for target in environment.targets}
    if about.target not in targets:
        raise UnknownTarget(about.target, list(targets))
    return [targets[about.target]]

"""Begin a drift detection run: find a schedule's roots at the default branch's head, and store a layer for each.

Layers are planned as those of a pull request: by the same jobs, under the read-only role, without a lock.

A repeated begin with the same name continues the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from tidegate.config.configured import ConfiguredRoot
from tidegate.config.declarations import DriftSchedule
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.resolution import configure
from tidegate.config.rules.drift import DriftRecord, begun, why_not_checked
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.speculative_plan import Checkout, LayerState, SpeculativePlan
from tidegate.discovery.discover_roots import read_configuration
from tidegate.discovery.find_roots import CommitModules
from tidegate.discovery.repository_source import fetch_commit, reading_of
from tidegate.discovery.root_index import RootIndex
from tidegate.drift.align_drift import remove_drift
from tidegate.ports import Ports
from tidegate.pull_requests.affected_layers import MOST_LAYERS
from tidegate.roots.rules.root import drift_layer_id
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ForgeRefused, InvalidConfiguration, NotFound
from tidegate.vcs.find_headline import find_headline
from tidegate.vcs.rules.headline import Headline

#: What the drift machine does next.
Next = Literal["plan", "conclude", "stop"]
_STOP: tuple[Next, tuple[str, ...]] = ("stop", ())


@dataclass(frozen=True, slots=True)
class Look:
    """What to check in a commit. ``notice`` says in sentences, a line each, what is left out, and why."""

    sha: str = ""
    layers: tuple[SpeculativePlan, ...] = ()
    notice: str = ""
    headline: Headline = field(default_factory=Headline)


def discover_drift(ports: Ports, repository: str, schedule: str, execution: str) -> tuple[Next, tuple[str, ...]]:
    """Return the next step of a schedule's run ``execution``, and the layers to plan.

    ``plan``: plan these layers; ``conclude``: there is nothing to plan; ``stop``: another run is in progress, or the
    schedule no longer exists. Raise ForgeUnavailable and CloudUnavailable.
    """
    record = deciding_again(partial(_claimed, ports, repository, schedule, execution))
    if record is None:
        return _STOP
    if not record.layers or len(ports.speculative_plans.many(record.layers)) < len(record.layers):
        look = _looked(ports, record)
        if look is None:
            return _STOP
        record = deciding_again(partial(_named, ports, repository, schedule, look))
        ports.speculative_plans.create(look.layers)
    stored = {each.id: each for each in ports.speculative_plans.many(record.layers)}
    waiting = tuple(name for name in record.layers if not stored[name].is_done)
    return ("plan", waiting) if waiting else ("conclude", ())


def _claimed(ports: Ports, repository: str, schedule: str, execution: str) -> DriftRecord | None:
    """Return the record if this run is the current one, or may become it."""
    try:
        record = ports.drifts.get(repository, schedule)
    except NotFound:
        ports.schedules.remove(repository, schedule)
        return None
    if record.execution == execution:
        return record
    if record.execution and not _is_over(ports, record.execution):
        return None
    return ports.drifts.save(begun(record, execution, ports.clock.now()))


def _is_over(ports: Ports, execution: str) -> bool:
    try:
        return ports.drift_runs.ending(execution) is not None
    except NotFound:
        return True


def _named(ports: Ports, repository: str, schedule: str, look: Look) -> DriftRecord:
    """Add layers to the record before they exist, so that the next run finds and removes them."""
    record = ports.drifts.get(repository, schedule)
    ids = tuple(each.id for each in look.layers)
    return ports.drifts.save(replace(record, sha=look.sha, headline=look.headline, layers=ids, notice=look.notice))


def _looked(ports: Ports, record: DriftRecord) -> Look | None:
    """Return what to check; None if the schedule is no longer configured."""
    try:
        return _look(ports, record)
    except (InvalidConfiguration, ForgeRefused, NotFound) as error:
        return Look(notice=f"{error} No root was checked for drift.")


def _look(ports: Ports, record: DriftRecord) -> Look | None:
    branch = ports.commits.default_branch(record.repository)
    head = ports.commits.branch_head(record.repository, branch)
    with fetch_commit(ports, record.repository, head) as trees:
        configuration = read_configuration(trees, reading_of(ports, record.repository))
        schedule = _schedule(configuration, record.entry.name)
        if schedule is None:
            remove_drift(ports, record)
            return None
        configuring = partial(configure, branch=branch, dest_branch=branch)
        index = RootIndex(CommitModules(trees), record.repository, configuration, configuring)
        configured = index.configured
    chosen = [each for each in configured.roots if schedule.query.matches(each.tagged) and not each.destroy]
    if len(chosen) > MOST_LAYERS:
        return Look(head, (), _too_many(len(chosen)))
    heads = {each.root_name: each for each in ports.repository_index.roots(record.repository)}
    layers = tuple(_layer(ports, record, configuration, each, head, heads) for each in chosen)
    left_out = "\n".join(f"{name}: {why}" for name, why in sorted(configured.refused.items()))
    return Look(head, layers, left_out, find_headline(ports, record.repository, head))


def _layer(
    ports: Ports,
    record: DriftRecord,
    configuration: LoadedConfiguration,
    each: ConfiguredRoot,
    sha: str,
    heads: Mapping[str, QueueHead],
) -> SpeculativePlan:
    why_not = why_not_checked(heads.get(each.root.name))
    rules = configuration.pull_requests
    return SpeculativePlan(
        drift_layer_id(record.repository, each.root.name, each.stack, sha, record.execution),
        record.repository,
        0,
        each.root,
        sha,
        sha,
        each.stack,
        each.shared,
        Checkout.BRANCH,
        rules.allowed_providers,
        rules.allowed_modules,
        run=each.run,
        state=LayerState.REFUSED if why_not else LayerState.WAITING,
        reason=why_not,
        changed_at=ports.clock.now(),
        schedule=record.entry.name,
    )


def _schedule(configuration: LoadedConfiguration, name: str) -> DriftSchedule | None:
    named = configuration.drift.schedules if configuration.drift.enabled else ()
    return next((each for each in named if each.name == name), None)


def _too_many(number: int) -> str:
    return (
        f"The schedule matches {number} roots, counted per stack, but the limit is {MOST_LAYERS}. No root was "
        "checked. Split the schedule into several with narrower tag queries."
    )

"""Find what a revision of a pull request changes, and store a speculative plan for each affected root.

Idempotent: layer ids are derived, and the record is saved last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.ports import Ports
from tidegate.pull_requests.affected_layers import Affected, find_affected
from tidegate.pull_requests.close_pull_request import remove_layers
from tidegate.pull_requests.pull_request_checks import show_configuration, show_pull_request
from tidegate.pull_requests.rules.record import PullRequestRecord, judged
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

#: What the pull request's machine does next.
Next = Literal["plan", "comment", "nothing", "stop"]
_STOP: tuple[Next, tuple[str, ...]] = ("stop", ())
#: Names of layers in a record at most: quick successive pushes may each leave some that were removed.
_MOST_NAMED = 2000


def discover_pull_request(ports: Ports, pull_request: str, revision: str) -> tuple[Next, tuple[str, ...]]:
    """Return the next step for a revision of ``OWNER/REPO#NUMBER``, and the layers to plan.

    ``plan``: plan these layers; ``comment``: only publish what is known; ``nothing``: the pull request changes no root,
    and everything is published; ``stop``: it is closed, or has another revision. Raise ForgeUnavailable and
    ForgeRefused.
    """
    record = _record(ports, pull_request, revision)
    if record is None:
        return _STOP
    if record.discovered == revision:
        return _next(ports, record)
    try:
        affected = find_affected(ports, record, ports.clock.now(), ports.speculative_plans.many(record.layers))
    except NotFound:
        return _STOP  # A force push removed the commit: another event announces the new one.
    if affected.examined:
        show_configuration(ports, record, affected.mistakes, affected.warnings)
    ids = tuple(layer.id for layer in affected.layers)
    if not deciding_again(partial(_expect, ports, pull_request, revision, ids)):
        return _STOP
    ports.speculative_plans.create(affected.layers)
    saved = deciding_again(partial(_save, ports, pull_request, revision, affected))
    if saved is None:
        ports.speculative_plans.remove(ids)
        return _STOP
    return _next(ports, saved)


def _record(ports: Ports, pull_request: str, revision: str) -> PullRequestRecord | None:
    """Return the record if it is open and still at this revision."""
    repository, _, number = pull_request.rpartition("#")
    record = ports.pull_requests.get(repository, int(number))
    return record if record.is_open and record.spec.revision == revision else None


def _expect(ports: Ports, pull_request: str, revision: str, layers: tuple[str, ...]) -> bool:
    """Add layers to the record before they exist, so that a newer revision or a close finds and removes them."""
    record = _record(ports, pull_request, revision)
    if record is None:
        return False
    named = tuple(dict.fromkeys((*record.layers, *layers)))
    if len(named) > _MOST_NAMED:
        there = {layer.id for layer in ports.speculative_plans.many(record.layers)}
        named = tuple(each for each in named if each in there or each in layers)
    if named != record.layers:
        ports.pull_requests.save(replace(record, layers=named))
    return True


def _save(ports: Ports, pull_request: str, revision: str, affected: Affected) -> PullRequestRecord | None:
    """Save what is affected; first remove the layers of an older revision, which have all ended."""
    record = _record(ports, pull_request, revision)
    if record is None:
        return None
    ids = tuple(layer.id for layer in affected.layers)
    _remove(ports, [each for each in record.layers if each not in ids])
    known = replace(
        record,
        discovered=revision,
        layers=ids,
        stacks=tuple(sorted({each.stack for each in affected.layers})),
        notice=affected.notice,
        notes=affected.notes,
        skipped=affected.skipped,
        guarded=affected.guarded,
        rules=affected.rules,
        rule_changes=affected.rule_changes,
        commented="" if ids or affected.pressing or record.comments else revision,
    )
    return ports.pull_requests.save(judged(known, affected.layers, ports.clock.now()))


def _remove(ports: Ports, layers: Sequence[str]) -> None:
    if layers:
        remove_layers(ports, ports.speculative_plans.many(layers))
        ports.speculative_plans.remove(layers)


def _next(ports: Ports, record: PullRequestRecord) -> tuple[Next, tuple[str, ...]]:
    waiting = _undone(ports.speculative_plans.many(record.layers), record.layers)
    if waiting:
        return "plan", waiting
    if record.commented != record.discovered:
        return "comment", ()
    show_pull_request(ports, record)
    return "nothing", ()


def _undone(layers: Sequence[SpeculativePlan], order: Sequence[str]) -> tuple[str, ...]:
    """Return those that have not ended, in the order in which a merge would deploy them."""
    undone = {layer.id for layer in layers if not layer.is_done}
    return tuple(name for name in order if name in undone)

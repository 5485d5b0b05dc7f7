"""Mark pull requests whose base branch changed roots of theirs: their plans are outdated.

The same push again changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.ports import (
    Delivery,
    KnownRepository,
    Ports,
)
from tidegate.pull_requests.rules.record import PullRequestRecord, PullRequestState, judged
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

#: The kind of delivery that requests new plans.
BASE_MOVED = "base_moved"
#: Pull requests that one push plans again; the others only show that their plans are outdated.
REPLANNED = 20


def notify_base_moved(
    ports: Ports, repository: KnownRepository, touched: Collection[str] | None, rules: ApplyRules, *, replans: bool
) -> None:
    """Mark the open pull requests to the default branch, which moved to the newest commit ``seen``.

    ``touched`` are the names of the changed roots, None for all; ``rules`` say where pull requests are applied now.
    ``replans`` requests new plans at the next run of the reconciler, so that many pushes cause one plan. Raise
    ForgeUnavailable and ForgeRefused.
    """
    numbers = [number for name, number in ports.pull_requests.opened() if name == repository.name]
    marked = [
        record
        for number in numbers
        if (record := deciding_again(partial(_marked, ports, repository, number, touched, rules))) is not None
    ]
    for record in marked:
        if record.state is PullRequestState.COMMENT_NEEDED:
            ports.event_publisher.pull_request_ended(record.spec.id, record.spec.revision)
    older = [record for record in marked if record.overtaken]
    for record in older[:REPLANNED] if replans else ():
        ports.deliveries.store(_delivery(record, ports.clock.now()))


def _marked(
    ports: Ports, repository: KnownRepository, number: int, touched: Collection[str] | None, rules: ApplyRules
) -> PullRequestRecord | None:
    """Return the saved record, None if it is unchanged."""
    try:
        record = ports.pull_requests.get(repository.name, number)
    except NotFound:
        return None
    spec = record.spec
    is_meant = record.is_open and spec.base == repository.default_branch and record.discovered == spec.revision
    if not is_meant or spec.base_sha == repository.seen:
        return None
    layers = ports.speculative_plans.many(record.layers)
    overtaken = _overtaken(record, [each.root.name for each in layers], touched)
    if (overtaken, rules) == (record.overtaken, record.rules):
        return None
    if not _is_open(ports, record):
        return None  # Its own merge moved the branch; the close event is still to come.
    older = replace(record, overtaken=overtaken, base_now=repository.seen, rules=rules, commented="")
    return ports.pull_requests.save(judged(older, layers, ports.clock.now()))


def _is_open(ports: Ports, record: PullRequestRecord) -> bool:
    spec = record.spec
    try:
        return ports.pull_request_reader.seen_pull_request(spec.repository, spec.number).is_open
    except NotFound:
        return False


def _overtaken(record: PullRequestRecord, roots: Sequence[str], touched: Collection[str] | None) -> tuple[str, ...]:
    found = {name for name in roots if touched is None or name in touched}
    return tuple(sorted({*record.overtaken, *found}))


def _delivery(record: PullRequestRecord, at: datetime) -> Delivery:
    spec = record.spec
    fields = {
        "repository": spec.repository,
        "pull_request": spec.number,
        "action": BASE_MOVED,
    }
    digest = hashlib.sha256(f"{spec.id} {record.base_now} {record.overtaken}".encode()).hexdigest()[:32]
    return Delivery(f"base-{digest}", "pull_request", fields, at)

"""Compare open pull requests with their records, and ensure an execution for those that need one.

They are not queued immediately, because the webhook may be under way: the next run sends a delivery that is unqueued
for a minute (``resend_deliveries``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial

from tidegate.ports import Delivery, KnownRepository, Ports
from tidegate.pull_requests.restart_pull_request import restart_pull_request
from tidegate.pull_requests.rules.record import PullRequestRecord, stands_where
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.rules.pull_request import SeenPullRequest

#: Repositories that one run reads from the VCS provider: one call for each hundred of their open pull requests.
ASKED = 60
#: Pull requests for which one run stores a delivery: many missed ones are planned step by step.
FOLLOWED = 20
#: Records whose execution one run reads: 15 calls a second are allowed.
RESTARTED = 200


def follow_pull_requests(ports: Ports, turn: ReconcilerPass) -> int:
    known: dict[str, list[int]] = {}
    for repository, number in ports.pull_requests.opened():
        known.setdefault(repository, []).append(number)
    missed: list[Delivery] = []

    def look(repository: KnownRepository) -> bool:
        missed.extend(_missed(ports, repository, known.get(repository.name, ()), turn.clock.now()))
        return False

    turn.each(ports.repository_index.repositories(), look, ASKED)
    return turn.each(missed, ports.deliveries.store, FOLLOWED)


def _missed(ports: Ports, repository: KnownRepository, known: Iterable[int], now: datetime) -> Iterable[Delivery]:
    """Return a delivery for each open pull request that differs from its record, or that is open only in its record."""
    try:
        found = ports.pull_request_reader.open_pull_requests(repository.name)
    except (NotFound, ForgeRefused):
        return ()  # The repository or the App's installation is gone: nothing can be planned.
    seen = {each.spec.number: each for each in found}
    numbers = seen.keys() | set(known)
    records = {
        each.spec.number: each for each in ports.pull_requests.many([(repository.name, each) for each in numbers])
    }
    differ = [each for each in sorted(numbers) if _differs(seen.get(each), records.get(each))]
    return [_delivery(repository, each, seen, records, now) for each in differ]


def restart_pull_requests(ports: Ports, turn: ReconcilerPass) -> int:
    waiting = [each for each in ports.pull_requests.many(list(ports.pull_requests.opened())) if each.is_open]
    return turn.each(waiting, partial(restart_pull_request, ports), RESTARTED)


def _differs(seen: SeenPullRequest | None, record: PullRequestRecord | None) -> bool:
    if seen is None or record is None or not record.is_open:
        return True
    return not stands_where(record, seen) or (record.skipped and not seen.spec.is_draft)


def _delivery(
    repository: KnownRepository,
    number: int,
    seen: Mapping[int, SeenPullRequest],
    records: Mapping[int, PullRequestRecord],
    now: datetime,
) -> Delivery:
    """Return the delivery: its id is the same as long as neither side changes, so each state is stored once."""
    fields = {
        "repository": repository.name,
        "pull_request": number,
        "action": "missed",
    }
    spec = seen[number].spec if number in seen else None
    version = records[number].version if number in records else 0
    state = f"{repository.name}#{number} {spec and (spec.head_sha, spec.base, spec.is_draft)} {version}"
    digest = hashlib.sha256(state.encode()).hexdigest()[:32]
    return Delivery(f"pull-{digest}", "pull_request", fields, now)

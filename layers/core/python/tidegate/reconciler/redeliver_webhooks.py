"""Request redelivery of failed webhooks: GitHub does not do so by itself.

A webhook that arrives twice is stored once.
"""

from __future__ import annotations

from datetime import datetime

from tidegate.ports import Asked, FailedDelivery, Ports
from tidegate.reconciler.reconciler_pass import RUNS_EVERY, ReconcilerPass
from tidegate.rules.errors import NotFound

#: Used events; others may stay lost.
EVENTS = frozenset(
    {
        "push",
        "check_run",
        "check_suite",
        "issue_comment",
        "pull_request",
        "pull_request_review",
        "merge_group",
        "status",
    }
)
#: Seconds before now in which each run searches for failed deliveries, and once an hour: as long as GitHub keeps them.
RECENT = 3600
KEPT = 3 * 24 * 3600
_AN_HOUR = 3600 // RUNS_EVERY
#: Requests for one delivery: each after twice the previous wait, some two hours in all.
MOST_ASKED = 5
_FIRST_WAIT = 2 * RUNS_EVERY
_AT_MOST = 50


def redeliver_webhooks(ports: Ports, turn: ReconcilerPass) -> int:
    since = turn.ago(KEPT if turn.number % _AN_HOUR == 0 else RECENT)
    used = [failed for failed in ports.forge_deliveries.failed(since) if failed.event in EVENTS]
    return turn.each(used, lambda failed: _ask(ports, failed, turn.clock.now()), _AT_MOST)


def _ask(ports: Ports, failed: FailedDelivery, now: datetime) -> bool:
    asked = ports.redeliveries.asked(failed.guid)
    if not is_due(asked, now) or _is_stored(ports, failed.guid):
        return False
    ports.forge_deliveries.redeliver(failed.id)
    ports.redeliveries.remember(failed.guid, Asked(asked.times + 1 if asked else 1, now))
    return True


def _is_stored(ports: Ports, guid: str) -> bool:
    """Tell whether the delivery arrived, and only its answer was too late."""
    try:
        ports.deliveries.get(guid)
    except NotFound:
        return False
    return True


def is_due(asked: Asked | None, now: datetime) -> bool:
    """Tell whether to request it (again): with growing intervals, and not forever."""
    if asked is None:
        return True
    waited = (now - asked.at).total_seconds()
    return asked.times < MOST_ASKED and waited >= _FIRST_WAIT * 2 ** (asked.times - 1)

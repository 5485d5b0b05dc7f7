"""Find missed pushes: the default branch's head differs from the newest known commit.

They are not queued immediately, because the webhook may be under way: the next run sends a delivery that is unqueued
for a minute (``resend_deliveries``).
"""

from __future__ import annotations

from datetime import datetime

from tidegate.ports import KnownRepository, Ports
from tidegate.pushes.missed_push import missed_push
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import ForgeRefused, NotFound

#: Repositories that one run reads from the VCS provider: one call each, of 5,000 an hour and installation.
ASKED = 60


def catch_up_heads(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(ports.repository_index.repositories(), lambda known: _look(ports, known, turn.clock.now()), ASKED)


def _look(ports: Ports, known: KnownRepository, now: datetime) -> bool:
    if not known.seen:
        return False
    try:
        head = ports.commits.branch_head(known.name, known.default_branch)
    except (NotFound, ForgeRefused):
        return False  # The branch, the repository or the App's installation is gone: nothing can be deployed.
    return head != known.seen and ports.deliveries.store(missed_push(known, head, now))

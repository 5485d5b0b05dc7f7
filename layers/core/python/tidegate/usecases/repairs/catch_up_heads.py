"""Find pushes that no webhook told of: the default branch is at another commit than the newest that was received."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tidegate.domain.errors import ForgeRefused, NotFound
from tidegate.ports import Catalog, Deliveries, Delivery, Forge, KnownRepository
from tidegate.usecases.repairs.turn import Turn

#: The kind of the deliveries that stand for such pushes.
HEAD = "head"
#: Repositories that one run asks the forge about: one call each, of 5,000 an hour and installation.
ASKED = 60


@dataclass(frozen=True, slots=True)
class CatchUpHeads:
    """Stores a delivery for each head that is not known.

    It is not queued at once, as the push's own webhook may be under way: a delivery that lies unqueued for a
    minute is sent by the next run (``ResendDeliveries``).
    """

    catalog: Catalog
    forge: Forge
    deliveries: Deliveries

    def repair(self, turn: Turn) -> int:
        return turn.each(self.catalog.repositories(), lambda known: self._look(known, turn.clock.now()), ASKED)

    def _look(self, known: KnownRepository, now: str) -> bool:
        if not known.seen:
            return False
        try:
            head = self.forge.branch_head(known.installation, known.name, known.default_branch)
        except (NotFound, ForgeRefused):
            return False  # The branch, the repository or the App's installation is gone: nothing can be deployed.
        return head != known.seen and self.deliveries.store(_delivery(known, head, now))


def _delivery(known: KnownRepository, head: str, now: str) -> Delivery:
    fields = {
        "repository": known.name,
        "before": known.seen,
        "after": head,
        "branch": known.default_branch,
        "installation": known.installation,
    }
    return Delivery(_identifier(known, head), HEAD, fields, now)


def _identifier(known: KnownRepository, head: str) -> str:
    """Return the same id as long as nothing else is received, so that one head is stored once."""
    known_state = f"{known.name} {known.seen} {known.seen_at} {head}"
    return f"{HEAD}-{hashlib.sha256(known_state.encode()).hexdigest()[:32]}"

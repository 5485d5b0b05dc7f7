"""Find pushes that no webhook told of: the default branch is at another commit than the newest that was received."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.ports import Catalog, Deliveries, Forge, KnownRepository
from tidegate.pushes.missed_push import missed_push
from tidegate.reconciler.turn import Turn
from tidegate.rules.errors import ForgeRefused, NotFound

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
        return head != known.seen and self.deliveries.store(missed_push(known, head, now))

"""Send deliveries again that were stored and never queued: the webhook function died in between."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.ports import Deliveries, Delivery, EventQueue
from tidegate.reconciler.turn import Turn

#: Seconds after which a delivery that is not queued counts as forgotten: a webhook takes less than ten.
FORGOTTEN_AFTER = 60
_AT_MOST = 1000


@dataclass(frozen=True, slots=True)
class ResendDeliveries:
    """Sends stored deliveries that are on no queue. Whatever receives one twice does its work once."""

    deliveries: Deliveries
    events: EventQueue

    def repair(self, turn: Turn) -> int:
        return turn.each(self.deliveries.unqueued(turn.ago(FORGOTTEN_AFTER)), self._send, _AT_MOST)

    def _send(self, delivery: Delivery) -> bool:
        self.events.send(delivery)
        self.deliveries.mark_queued(delivery.id)
        return True

"""Send deliveries that were stored and never queued because the webhook function died in between.

A repeated delivery does its work once.
"""

from __future__ import annotations

from functools import partial

from tidegate.ports import Delivery, Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass

#: Seconds after which an unqueued delivery counts as lost: a webhook takes less than ten.
FORGOTTEN_AFTER = 60
_AT_MOST = 1000


def resend_deliveries(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(ports.deliveries.unqueued(turn.ago(FORGOTTEN_AFTER)), partial(_send, ports), _AT_MOST)


def _send(ports: Ports, delivery: Delivery) -> bool:
    ports.events.send(delivery)
    ports.deliveries.mark_queued(delivery.id)
    return True

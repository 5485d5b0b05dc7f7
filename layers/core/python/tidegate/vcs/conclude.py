"""Remember with a delivery what became of it, also when it is received again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tidegate.ports import Deliveries, DeliveryOutcome
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, NotFound

#: Characters of an outcome that are stored with the delivery.
_LONGEST_OUTCOME = 2000
#: Ids of deployments that are stored with it: with 64 characters each they leave room in an item of 400 KB.
_MOST_DEPLOYMENTS = 4000
_AGAIN = "Tidegate retries the event."


def conclude(deliveries: Deliveries, delivery: str, work: Callable[[], DeliveryOutcome]) -> str:
    """Do the work that a delivery asks for; store with it, and return, what became of it.

    ForgeUnavailable and ForgeRefused (a permission may be given, so that is tried again, too) are stored and
    pass through, as does whatever else ``work`` raises.
    """
    try:
        outcome = work()
    except (ForgeUnavailable, ForgeRefused) as error:
        _store(deliveries, delivery, DeliveryOutcome(f"{error} {_AGAIN}"))
        raise
    _store(deliveries, delivery, outcome)
    return outcome.text


def is_concluded(deliveries: Deliveries, delivery: str) -> bool:
    """Tell whether the work for a delivery was done to its end before."""
    try:
        outcome = deliveries.outcome(delivery)
    except NotFound:
        return False
    return outcome is not None and not outcome.text.endswith(_AGAIN)


def _store(deliveries: Deliveries, delivery: str, outcome: DeliveryOutcome) -> None:
    with suppress(NotFound):  # Deliveries expire; what was to be done for this one is done.
        deliveries.conclude(delivery, outcome.text[:_LONGEST_OUTCOME], outcome.deployments[:_MOST_DEPLOYMENTS])

"""Store the result of a delivery, also when it is received again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tidegate.ports import Deliveries, DeliveryOutcome
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, NotFound

#: Characters of an outcome that are stored with the delivery.
_LONGEST_OUTCOME = 2000
#: Ids of deployments in a delivery at most: with 64 characters each they fit an item of 400 KB.
_MOST_DEPLOYMENTS = 4000
_AGAIN = "Tidegate retries the event."


def conclude(deliveries: Deliveries, delivery: str, work: Callable[[], DeliveryOutcome]) -> str:
    """Do a delivery's work; return its result, and store it with the delivery.

    ForgeUnavailable and ForgeRefused are stored and raised, as is whatever else ``work`` raises; a refusal is retried,
    because a permission may be given.
    """
    try:
        outcome = work()
    except (ForgeUnavailable, ForgeRefused) as error:
        _store(deliveries, delivery, DeliveryOutcome(f"{error} {_AGAIN}"))
        raise
    _store(deliveries, delivery, outcome)
    return outcome.text


def is_concluded(deliveries: Deliveries, delivery: str) -> bool:
    """Tell whether a delivery's work was completed before."""
    try:
        outcome = deliveries.outcome(delivery)
    except NotFound:
        return False
    return outcome is not None and not outcome.text.endswith(_AGAIN)


def _store(deliveries: Deliveries, delivery: str, outcome: DeliveryOutcome) -> None:
    with suppress(NotFound):  # Deliveries expire; the work for this one is done.
        deliveries.conclude(delivery, outcome.text[:_LONGEST_OUTCOME], outcome.deployments[:_MOST_DEPLOYMENTS])

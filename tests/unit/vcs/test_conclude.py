"""What is stored of an outcome: as much as a delivery has room for."""

from __future__ import annotations

from tests.builders import any_delivery
from tests.fakes import MemoryDeliveries
from tidegate.ports import DeliveryOutcome
from tidegate.vcs.conclude import conclude


def test_of_an_outcome_of_very_many_deployments_the_first_are_stored():
    deliveries, delivery = MemoryDeliveries(), any_delivery()
    deliveries.store(delivery)
    ids = tuple(f"{number:064}" for number in range(10_000))
    assert conclude(deliveries, delivery.id, lambda: DeliveryOutcome("x" * 10_000, ids)) == "x" * 10_000
    stored = deliveries.outcome(delivery.id)
    assert stored is not None
    assert len(stored.text) < 10_000
    assert ids[: len(stored.deployments)] == stored.deployments
    assert sum(map(len, stored.deployments)) < 300_000

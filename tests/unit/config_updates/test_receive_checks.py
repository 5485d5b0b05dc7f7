"""What CI reports wakes the worker of a config repository's queue, and nothing else."""

from __future__ import annotations

import pytest

from tests.fakes.ports import memory_ports
from tests.instants import utc
from tidegate.config_updates.receive_checks import receive_checks
from tidegate.ports import Delivery, Ports

REPOSITORY, SHA = "acme/shop-config", "c" * 40


@pytest.fixture
def ports() -> Ports:
    return memory_ports()


def receive(ports: Ports, repository: str = REPOSITORY) -> str:
    told = Delivery("delivery-1", "checks", {"repository": repository, "sha": SHA}, utc("2026-11-27T10:00"))
    ports.deliveries.store(told)
    return receive_checks(ports, told)


def test_a_repository_without_a_queue_gets_none(ports):
    assert "no config updates" in receive(ports)
    assert ports.config_updates.head(REPOSITORY).version == 0
    assert ports.update_workflows.workers == []


def test_the_worker_of_a_queue_is_woken_and_a_repeated_delivery_wakes_it_once(ports):
    head = ports.config_updates.head(REPOSITORY)
    ports.config_updates.commit(head, head)
    for _ in range(2):
        assert "reads the checks" in receive(ports)
    assert ports.config_updates.head(REPOSITORY).asked
    assert [repository for _, repository in ports.update_workflows.workers] == [REPOSITORY]
    assert "no config updates" in receive(ports, "acme/other")

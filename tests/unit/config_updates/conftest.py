"""Fixtures of config updates."""

from __future__ import annotations

import pytest

from tests.fakes import MemoryClock, MemoryEventPublisher, MemoryForge, MemoryWorkflows
from tests.fakes.config_updates import MemoryConfigBranches
from tests.fakes.ports import memory_ports
from tests.unit.config_updates.worker import Worker
from tidegate.vcs.rules.comparison import Comparison


@pytest.fixture
def worker() -> Worker:
    branches, clock = MemoryConfigBranches(heads={"main": "m1"}), MemoryClock()
    forge = MemoryForge(comparison=Comparison.DIVERGED)
    workflows, publisher = MemoryWorkflows(), MemoryEventPublisher()
    ports = memory_ports(
        config_branches=branches, clock=clock, forge=forge, workflows=workflows, event_publisher=publisher
    )
    worker = Worker(ports, branches, forge, clock, workflows, publisher)
    worker.put("m1", staging="first", production="first")
    return worker

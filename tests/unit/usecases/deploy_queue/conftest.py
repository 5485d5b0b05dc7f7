"""Worlds in which a queue's use cases are tried one by one."""

from __future__ import annotations

import pytest

from tests.builders import any_deployment, deployment_in
from tests.unit.usecases.deploy_queue.world import FailingEventPublisher, World
from tidegate.deploys.rules.state import State


@pytest.fixture
def world():
    return World()


@pytest.fixture
def idle(world):
    """A world whose worker waits for a signal, after a first deployment."""
    world.in_flight(deployment_in(State.APPLIED))
    world.record(any_deployment())
    world.waits()
    return world


@pytest.fixture
def unheard():
    """A world whose announcements fail when ``announcements.refusals`` says so."""
    return World(event_publisher=FailingEventPublisher())

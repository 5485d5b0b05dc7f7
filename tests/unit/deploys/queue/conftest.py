"""Scenarios in which a queue's use cases are tried one by one."""

from __future__ import annotations

import pytest

from tests.builders import any_deployment, deployment_in
from tests.unit.deploys.queue.scenario import FailingEventPublisher, Scenario
from tidegate.deploys.rules.state import State


@pytest.fixture
def scenario():
    return Scenario()


@pytest.fixture
def idle(scenario):
    """A scenario whose worker waits for a signal, after a first deployment."""
    scenario.in_flight(deployment_in(State.APPLIED))
    scenario.record(any_deployment())
    scenario.waits()
    return scenario


@pytest.fixture
def unheard():
    """A scenario whose announcements fail when ``announcements.refusals`` says so."""
    return Scenario(event_publisher=FailingEventPublisher())

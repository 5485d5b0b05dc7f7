from __future__ import annotations

import pytest

from tests.api.scenario import Client, WebScenario


@pytest.fixture
def wires():
    return WebScenario()


@pytest.fixture
def reviewer(wires):
    """A program with the token of somebody who may write."""
    return Client(wires, "token-of-reviewer")


@pytest.fixture
def reader(wires):
    return Client(wires, "token-of-reader")


@pytest.fixture
def visitor(wires):
    """A program with the token of somebody who may see nothing."""
    return Client(wires, "token-of-visitor")


@pytest.fixture
def stranger(wires):
    return Client(wires)


@pytest.fixture
def browser(wires):
    """A browser in which somebody who may write has signed in."""
    return Client(wires).sign_in("reviewer")

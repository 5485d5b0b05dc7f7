from __future__ import annotations

import pytest

from tests.unit.reconciler.reconciler_scenario import BrokenScenario


@pytest.fixture
def scenario():
    return BrokenScenario()

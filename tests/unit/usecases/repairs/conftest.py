from __future__ import annotations

import pytest

from tests.unit.usecases.repairs.broken_world import BrokenWorld


@pytest.fixture
def world():
    return BrokenWorld()

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runner.config_updates.config_repository import ConfigRepository


@pytest.fixture
def config(tmp_path: Path) -> ConfigRepository:
    return ConfigRepository(tmp_path)

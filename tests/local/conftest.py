"""A small local cloud for the tests of the local cloud itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import small_stack

from tidegate_local.client import LocalCloud


@pytest.fixture(scope="session")
def assembly(tmp_path_factory):
    return small_stack.write(tmp_path_factory.mktemp("assembly") / "out")


@pytest.fixture(scope="session")
def shared_cloud(assembly):
    with LocalCloud(assembly=assembly, forge=False) as cloud:
        yield cloud


@pytest.fixture
def cloud(shared_cloud):
    yield shared_cloud
    shared_cloud.clear_faults()

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kubernetes.conftest import kubernetes
from tests.runner.clusters.workflows import Workflows
from tests.runner.fake_aws import FakeAws
from tests.runner.git_forge import Forge
from tidegate.deploys.rules.cluster import DeclaredCluster

__all__ = ["kubernetes"]

New = Callable[..., Workflows]


@pytest.fixture
def workflows(aws: FakeAws, forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> New:
    """Make the workflows of a cluster that is declared so, and has these files."""
    # A runner ends all that its programs left; this process has API servers as well.
    for module in ("process", "plan_job"):
        monkeypatch.setattr(f"runner.{module}.kill_descendants", lambda: None)
    numbers = itertools.count(1)

    def make(cluster: DeclaredCluster, files: dict[str, str], **more: object) -> Workflows:
        place = tmp_path / f"runners-{next(numbers)}"
        place.mkdir()
        return Workflows(aws, forge, place, cluster, files, **more)  # type: ignore[arg-type]

    return make

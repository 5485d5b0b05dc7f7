from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kubernetes.servers import Cluster, Kubernetes, missing, running_kubernetes


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """Return an etcd of this process, on which tests start clusters. Skip if there is none on this machine."""
    if reason := missing():
        pytest.skip(reason)
    with running_kubernetes(tmp_path_factory.mktemp("kubernetes")) as running:
        yield running


@pytest.fixture(scope="module")
def cluster(kubernetes: Kubernetes) -> Cluster:
    """Return a cluster that the tests of a file share."""
    return kubernetes.cluster("shared")

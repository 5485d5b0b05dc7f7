"""The simulated rollout of a fleet keeps the rules of its stacks, and says what it took."""

from __future__ import annotations

import json

import pytest

from tests.bench.cluster_rollout import ClusterFleet
from tests.bench.rollout import WAVES, Fleet, tell


@pytest.mark.parametrize("fleet", [Fleet, ClusterFleet])
def test_a_small_fleet_is_applied_in_waves(fleet, capsys):
    tell(fleet(30).roll_out())
    told = json.loads(capsys.readouterr().out)
    limits = {name: limit for name, _, limit, _ in WAVES}
    assert told["most_at_once"].keys() == limits.keys()
    assert all(count <= limits[stack] for stack, count in told["most_at_once"].items())
    assert told["simulated_hours"] > 3
    assert told["calls"] > 30


def test_the_upgrade_of_a_workload_cluster_reads_no_record_of_clusters_beside_it():
    calls = ClusterFleet(10).roll_out().calls
    assert calls["clusters.cluster"] > 0
    assert calls["clusters.clusters"] == 0

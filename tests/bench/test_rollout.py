"""The simulated rollout of a fleet keeps the rules of its stacks, and says what it took."""

from __future__ import annotations

import json

from tests.bench.rollout import WAVES, main


def test_a_small_fleet_is_applied_in_waves(capsys):
    main(30)
    told = json.loads(capsys.readouterr().out)
    limits = {name: limit for name, _, limit, _ in WAVES}
    assert told["most_at_once"].keys() == limits.keys()
    assert all(count <= limits[stack] for stack, count in told["most_at_once"].items())
    assert told["simulated_hours"] > 3
    assert told["calls"] > 30

"""Deployments whose gates wait for the same environment."""

from __future__ import annotations

from tests.unit.gates.test_environment_waits import CONFIG, Scenario, state_of
from tidegate.deploys.rules.state import State
from tidegate.gates.environment_waits import EnvironmentWaits


def test_an_environment_is_read_once_for_all_deployments_that_wait_for_it(monkeypatch):
    scenario = Scenario()
    store = scenario.ports.config_updates
    store.save_environment(state_of(("a", -1), complete="a"))
    waits, reading, read = EnvironmentWaits(scenario.ports), store.environment, []

    def counted(*what):
        read.append(what)
        return reading(*what)

    monkeypatch.setattr(store, "environment", counted)
    found = [waits.by(scenario.one) for _ in range(2)]
    assert [each.state for one in found for each in one] == [State.APPLIED, State.APPLIED]
    assert read == [(CONFIG, "shop", "production")]

"""Stacks whose gate waits for an environment of a config repository."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import any_deployment, deployment_in
from tests.fakes.ports import memory_ports
from tidegate.changes.rules.waits import AwaitedEnvironment, Waits
from tidegate.config_updates.promotions.follow_update import follow_update
from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry
from tidegate.config_updates.rules.environment import EnvironmentState, Landed
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Gate
from tidegate.gates.environment_waits import EnvironmentWaits, wake_gates
from tidegate.gates.open_gates import open_gates
from tidegate.messages.queues import FollowUpdate
from tidegate.ports import Enrolled
from tidegate.rules.timestamp import LONG_AGO

CONFIG = "acme/config"
AWAITED = AwaitedEnvironment(CONFIG, "shop/production")
LISTED = {"TIDEGATE_UPDATE_REPOSITORIES": CONFIG}
SINCE = any_deployment().request.at


def state_of(*landed, complete=""):
    """Return the environment with image sets that landed so many minutes after the gate began, the oldest first."""
    state = EnvironmentState(CONFIG, "shop", "production")
    for name, minutes in landed:
        state = state.with_landed(Landed(name, name, SINCE + timedelta(minutes=minutes), "ci", entry=f"entry-{name}"))
    return replace(state, complete=complete)


def entry_of(name, minutes, state=EntryState.QUEUED, environment="production"):
    at = SINCE + timedelta(minutes=minutes)
    kind = EntryKind.PROMOTION
    return UpdateEntry(f"entry-{name}", CONFIG, "shop", environment, kind, at, "ci", app_sha=name * 10, state=state)


ON_ITS_WAY = "is on its way there."
NOT_YET = "Not all of its targets have deployed its newest image set."


@pytest.mark.parametrize(
    ("state", "entries", "told"),
    [
        (state_of(), [], "No image set has landed there yet."),
        (state_of(("a", -9), complete="a"), [], ""),
        (state_of(("a", -9), ("b", -5), complete="a"), [], NOT_YET),
        (state_of(("a", -9), ("b", 5), complete="a"), [], ""),
        (state_of(("a", -9), ("b", 5), complete="b"), [], ""),
        (state_of(("a", -9), ("b", 5), complete="a"), [entry_of("b", -1, EntryState.LANDED)], NOT_YET),
        (state_of(("a", -9), complete="a"), [entry_of("b", -1)], ON_ITS_WAY),
        (state_of(("a", -9), complete="a"), [entry_of("b", -1, EntryState.TESTING)], ON_ITS_WAY),
        (state_of(("a", -9), complete="a"), [entry_of("b", 1)], ""),
        (state_of(("a", -9), complete="a"), [entry_of("b", -1, EntryState.EVICTED)], ""),
        (state_of(("a", -9), complete="a"), [entry_of("b", -1, environment="staging")], ""),
        (state_of(("a", 1), ("b", 2), complete="a"), [], ""),
    ],
)
def test_an_environment_is_ready_with_what_was_there_or_on_its_way_when_the_wait_began(state, entries, told):
    assert state.wait_since({each.id: each for each in entries}, SINCE).endswith(told)
    assert bool(told) == bool(state.wait_since({each.id: each for each in entries}, SINCE))


class Scenario:
    """A planned deployment at the gate before its apply, which waits for an environment."""

    def __init__(self, settings=LISTED):
        self.ports = memory_ports(settings=settings)
        waiting = deployment_in(State.GATED)
        change = replace(waiting.change, id="change", waits=Waits(environments=(AWAITED,)))
        planned = deployment_in(State.AWAITING_REVIEW).planned
        gate = Gate(planned.job or "job", SINCE)
        self.one = replace(waiting, change=change, planned=planned, gate=gate)
        self.ports.queues.enqueue(self.one)
        self.ports.change_sets.enroll("change", [Enrolled(self.one.root.name, self.one.stack, self.one.id, SINCE)])

    def reason(self):
        open_gates(self.ports, "change")
        one = self.ports.deployments.get(self.one.id)
        return one.reason if one.gate.next is None else one.gate.next.value


def test_a_deployment_waits_until_the_environment_is_complete():
    scenario = Scenario()
    assert scenario.reason() == (
        "Waiting for environment shop/production of acme/config. No image set has landed there yet."
    )
    scenario.ports.config_updates.save_environment(state_of(("a", -1), complete="a"))
    assert scenario.reason() in {"review", "apply"}


def test_a_repository_that_the_installation_does_not_list_is_waited_for_and_an_operator_can_list_it():
    scenario = Scenario({})
    scenario.ports.config_updates.save_environment(state_of(("a", -1), complete="a"))
    assert "an operator can add it to update_repositories" in scenario.reason()


def test_the_gate_before_the_plan_does_not_wait_for_it():
    scenario = Scenario()
    unplanned = replace(scenario.one, planned=replace(scenario.one.planned, plan=None))
    assert EnvironmentWaits(scenario.ports).by(unplanned) == ()


def test_news_of_an_entry_request_a_check_of_the_gates_that_wait_for_its_repository():
    scenario = Scenario()
    store = scenario.ports.config_updates
    entry = entry_of("b", 0, EntryState.EVICTED)
    store.commit(store.head(CONFIG), store.head(CONFIG), [replace(entry, ended_at=LONG_AGO)])
    follow_update(scenario.ports, FollowUpdate(repository=CONFIG, entry=entry.id))
    assert scenario.ports.event_publisher.moved == ["change"]
    assert wake_gates(scenario.ports, "acme/other") == 0


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

"""Whoever works on pull requests may die at any call; whatever happens, at rest all is as the forge has it."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import REPOSITORY, any_plan, sha
from tests.chance import examples
from tests.contract.queue_actors import Died, Fate, Mortal
from tests.fakes.ports import changed
from tests.unit.pull_requests.pull_request_scenario import FILES, FORK_POINT, HEAD, MAIN, NUMBER, PullRequestScenario
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.ports import Change
from tidegate.pull_requests.cancel_plans import cancel_plans
from tidegate.pull_requests.receive_pull_request import receive_pull_request
from tidegate.pull_requests.restart_pull_request import restart_pull_request
from tidegate.pull_requests.rules.record import PullRequestState, judged

NEWER, BEGINS = sha(4), "Planning starts"
#: More calls to ports than any of these use cases makes.
CALLS = 22
#: The ports at whose calls they die.
MORTAL = (
    "deliveries",
    "pull_requests",
    "speculative_plans",
    "workflows",
    "pull_check_runs",
    "artifacts",
    "forge",
    "plan_slots",
    "event_publisher",
)
DEATHS = list(itertools.product(range(CALLS), (False, True)))


class MortalScenario(PullRequestScenario):
    """A scenario whose use cases die at the call that fate names."""

    def __post_init__(self):
        super().__post_init__()
        self.fate = Fate()
        ports = {name: Mortal(getattr(self.ports, name), self.fate) for name in MORTAL}
        self.mortal = changed(self.ports, **ports)
        for number in range(3, 9):
            self.trees[sha(number)] = {**FILES, "live/app/main.tf": f"# {number}"}
            self.forge.changes[MAIN, sha(number)] = Change(FORK_POINT, None)

    def dies(self, death, call):
        self.fate.countdown, self.fate.after = death
        with suppress(Died):
            call()
        self.fate.countdown = None

    def dies_and_is_done_again(self, death, call):
        self.dies(death, call)
        return call()

    def check_at_rest(self):
        """Check that what is stored and runs is what the forge has, and nothing else."""
        record, now = self.record, self.forge.seen[NUMBER]
        running = set(self.workflows.planned) - set(self.workflows.endings)
        assert record.is_open == now.is_open
        if not now.is_open:
            assert running == set()
            assert (record.layers, list(self.layers._layers)) == ((), [])
            return
        assert record.spec.head_sha == now.spec.head_sha
        assert running <= {record.execution}
        assert record.state is PullRequestState.IDLE or running == {record.execution}
        older = [layer for layer in self.layers._layers.values() if layer.sha != now.spec.head_sha]
        assert all(layer.is_done for layer in older)


@pytest.fixture
def scenario():
    return MortalScenario()


@pytest.fixture(params=DEATHS, ids=lambda death: f"{'after' if death[1] else 'before'}-call-{death[0]}")
def death(request):
    return request.param


def planning(scenario):
    """Let the pull request's only layer be planned."""
    scenario.receive()
    scenario.discover()
    (layer,) = scenario.found
    scenario.layers.save(replace(layer, state=LayerState.PLANNING))


def test_an_opened_pull_request_is_planned_once(scenario, death):
    delivery = scenario.delivery()
    scenario.dies_and_is_done_again(death, lambda: receive_pull_request(scenario.mortal, delivery))
    assert list(scenario.workflows.planned) == [scenario.record.execution]
    assert scenario.checks == [(HEAD, BEGINS)]
    scenario.check_at_rest()


def test_a_newer_commit_ends_what_worked_on_the_older_one(scenario, death):
    planning(scenario)
    scenario.pull(head_sha=NEWER)
    delivery = scenario.delivery()
    scenario.dies_and_is_done_again(death, lambda: receive_pull_request(scenario.mortal, delivery))
    assert scenario.record.spec.head_sha == NEWER
    assert scenario.checks == [(HEAD, f"Superseded by {NEWER[:7]}."), (NEWER, BEGINS)]
    scenario.check_at_rest()


def test_a_closed_pull_request_leaves_nothing(scenario, death):
    planning(scenario)
    plan = any_plan()
    (layer,) = scenario.found
    scenario.layers.save(replace(layer, state=LayerState.PLANNED, plan=plan))
    scenario.artifacts.objects[plan.file.key] = b""
    scenario.pull(is_open=False)
    delivery = scenario.delivery()
    scenario.dies_and_is_done_again(death, lambda: receive_pull_request(scenario.mortal, delivery))
    assert scenario.artifacts.objects == {}
    scenario.check_at_rest()


def test_a_merge_deploys_what_was_planned(scenario, death):
    planning(scenario)
    (layer,) = scenario.found
    scenario.pull(is_open=False, merged=True)
    delivery = scenario.delivery()
    scenario.dies_and_is_done_again(death, lambda: receive_pull_request(scenario.mortal, delivery))
    assert [each.key for each in scenario.record.deploys] == [(layer.root.name, layer.stack)]
    scenario.check_at_rest()


def test_a_discovery_that_died_is_done_again_with_the_same_layers(scenario, death):
    planning(scenario)
    scenario.pull(head_sha=NEWER)
    scenario.receive()
    what, ids = scenario.dies_and_is_done_again(death, partial(scenario.discover, ports=scenario.mortal))
    assert (what, list(ids)) == ("plan", [layer.id for layer in scenario.found])
    assert set(scenario.layers._layers) == set(ids)
    scenario.check_at_rest()


def test_a_verdict_for_a_merge_queue_is_given(scenario, death):
    scenario.receive()
    delivery = scenario.delivery("merge_group", sha=sha(77))
    scenario.dies_and_is_done_again(death, lambda: receive_pull_request(scenario.mortal, delivery))
    assert scenario.checks == [(HEAD, BEGINS), (sha(77), BEGINS)]
    assert scenario.record.queued == sha(77)


def test_an_execution_that_ended_without_a_result_is_restarted(scenario, death):
    planning(scenario)
    scenario.workflows.endings[scenario.record.execution] = "TIMED_OUT"
    scenario.dies(death, lambda: restart_pull_request(scenario.mortal, scenario.record))
    restart_pull_request(scenario.ports, scenario.record)
    assert scenario.record.restarted
    scenario.check_at_rest()


def test_plans_that_are_cancelled_end_and_that_is_shown(scenario, death):
    planning(scenario)
    execution = scenario.record.execution
    scenario.forge.writers.add("writer")
    cancel = partial(cancel_plans, scenario.mortal, REPOSITORY, NUMBER, "writer", whole=True)
    assert scenario.dies_and_is_done_again(death, cancel).done
    restart_pull_request(scenario.ports, scenario.record)
    assert (scenario.record.execution, scenario.workflows.endings) == (execution, {execution: "ABORTED"})
    assert [layer.state for layer in scenario.found] == [LayerState.CANCELLED]
    assert "writer cancelled" in scenario.record.notice
    assert scenario.event_publisher.ended


def shown(scenario):
    """Let all layers be planned, and the comment be written. Nothing is planned before the discovery told of it."""
    record = scenario.record
    if record.is_open and record.discovered == record.spec.revision:
        for layer in scenario.found:
            if not layer.is_done:
                scenario.layers.save(replace(layer, state=LayerState.PLANNED))
        done = replace(record, commented=record.discovered)
        scenario.records.save(judged(done, scenario.found, scenario.clock.now()))
        scenario.workflows.endings.setdefault(record.execution, "SUCCEEDED")


def happen(scenario, what):
    """Let one thing happen; the webhook of it may be lost, and who receives it may die and never come back."""
    kind, number, told, death = what
    match kind:
        case "push":
            scenario.pull(head_sha=sha(number), is_open=scenario.forge.seen[NUMBER].is_open)
        case "close":
            scenario.pull(is_open=False)
        case "open":
            scenario.pull()
        case "discover" if scenario.records.opened():
            scenario.dies(death, partial(scenario.discover, ports=scenario.mortal))
        case "show" if scenario.records.opened():
            shown(scenario)
        case "end" if scenario.records.opened():
            scenario.workflows.endings.setdefault(scenario.record.execution, "TIMED_OUT")
    if told:
        delivery = scenario.delivery()
        scenario.dies(death, lambda: receive_pull_request(scenario.mortal, delivery))


HAPPENINGS = st.tuples(
    st.sampled_from(["push", "close", "open", "discover", "show", "end"]),
    st.integers(3, 8),
    st.booleans(),
    st.tuples(st.integers(0, CALLS), st.booleans()),
)


@examples(150)
@given(st.lists(HAPPENINGS, max_size=12))
def test_whatever_happens_the_reconciler_brings_all_to_what_the_forge_has(happenings):
    scenario = MortalScenario()
    for each in happenings:
        happen(scenario, each)
    for _ in range(3):
        scenario.reconcile()
    if not scenario.forge.seen[NUMBER].is_open and not list(scenario.records.many([("acme/infra", NUMBER)])):
        return  # It was closed before anybody heard of it.
    scenario.check_at_rest()

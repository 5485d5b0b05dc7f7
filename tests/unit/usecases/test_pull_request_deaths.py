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
from tests.unit.usecases.pull_request_world import FILES, FORK_POINT, HEAD, MAIN, NUMBER, PullRequestWorld
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


class MortalWorld(PullRequestWorld):
    """A world whose use cases die at the call that fate names."""

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
def world():
    return MortalWorld()


@pytest.fixture(params=DEATHS, ids=lambda death: f"{'after' if death[1] else 'before'}-call-{death[0]}")
def death(request):
    return request.param


def planning(world):
    """Let the pull request's only layer be planned."""
    world.receive()
    world.discover()
    (layer,) = world.found
    world.layers.save(replace(layer, state=LayerState.PLANNING))


def test_an_opened_pull_request_is_planned_once(world, death):
    delivery = world.delivery()
    world.dies_and_is_done_again(death, lambda: receive_pull_request(world.mortal, delivery))
    assert list(world.workflows.planned) == [world.record.execution]
    assert world.checks == [(HEAD, BEGINS)]
    world.check_at_rest()


def test_a_newer_commit_ends_what_worked_on_the_older_one(world, death):
    planning(world)
    world.pull(head_sha=NEWER)
    delivery = world.delivery()
    world.dies_and_is_done_again(death, lambda: receive_pull_request(world.mortal, delivery))
    assert world.record.spec.head_sha == NEWER
    assert world.checks == [(HEAD, f"Superseded by {NEWER[:7]}."), (NEWER, BEGINS)]
    world.check_at_rest()


def test_a_closed_pull_request_leaves_nothing(world, death):
    planning(world)
    plan = any_plan()
    (layer,) = world.found
    world.layers.save(replace(layer, state=LayerState.PLANNED, plan=plan))
    world.artifacts.objects[plan.file.key] = b""
    world.pull(is_open=False)
    delivery = world.delivery()
    world.dies_and_is_done_again(death, lambda: receive_pull_request(world.mortal, delivery))
    assert world.artifacts.objects == {}
    world.check_at_rest()


def test_a_merge_deploys_what_was_planned(world, death):
    planning(world)
    (layer,) = world.found
    world.pull(is_open=False, merged=True)
    delivery = world.delivery()
    world.dies_and_is_done_again(death, lambda: receive_pull_request(world.mortal, delivery))
    assert [each.key for each in world.record.deploys] == [(layer.root.name, layer.stack)]
    world.check_at_rest()


def test_a_discovery_that_died_is_done_again_with_the_same_layers(world, death):
    planning(world)
    world.pull(head_sha=NEWER)
    world.receive()
    what, ids = world.dies_and_is_done_again(death, partial(world.discover, ports=world.mortal))
    assert (what, list(ids)) == ("plan", [layer.id for layer in world.found])
    assert set(world.layers._layers) == set(ids)
    world.check_at_rest()


def test_a_verdict_for_a_merge_queue_is_given(world, death):
    world.receive()
    delivery = world.delivery("merge_group", sha=sha(77))
    world.dies_and_is_done_again(death, lambda: receive_pull_request(world.mortal, delivery))
    assert world.checks == [(HEAD, BEGINS), (sha(77), BEGINS)]
    assert world.record.queued == sha(77)


def test_an_execution_that_ended_without_a_result_is_restarted(world, death):
    planning(world)
    world.workflows.endings[world.record.execution] = "TIMED_OUT"
    world.dies(death, lambda: restart_pull_request(world.mortal, world.record))
    restart_pull_request(world.ports, world.record)
    assert world.record.restarted
    world.check_at_rest()


def test_plans_that_are_cancelled_end_and_that_is_shown(world, death):
    planning(world)
    execution = world.record.execution
    world.forge.writers.add("writer")
    cancel = partial(cancel_plans, world.mortal, REPOSITORY, NUMBER, "writer", whole=True)
    assert world.dies_and_is_done_again(death, cancel).done
    restart_pull_request(world.ports, world.record)
    assert (world.record.execution, world.workflows.endings) == (execution, {execution: "ABORTED"})
    assert [layer.state for layer in world.found] == [LayerState.CANCELLED]
    assert "writer cancelled" in world.record.notice
    assert world.event_publisher.ended


def shown(world):
    """Let all layers be planned, and the comment be written. Nothing is planned before the discovery told of it."""
    record = world.record
    if record.is_open and record.discovered == record.spec.revision:
        for layer in world.found:
            if not layer.is_done:
                world.layers.save(replace(layer, state=LayerState.PLANNED))
        done = replace(record, commented=record.discovered)
        world.records.save(judged(done, world.found, world.clock.now()))
        world.workflows.endings.setdefault(record.execution, "SUCCEEDED")


def happen(world, what):
    """Let one thing happen; the webhook of it may be lost, and who receives it may die and never come back."""
    kind, number, told, death = what
    match kind:
        case "push":
            world.pull(head_sha=sha(number), is_open=world.forge.seen[NUMBER].is_open)
        case "close":
            world.pull(is_open=False)
        case "open":
            world.pull()
        case "discover" if world.records.opened():
            world.dies(death, partial(world.discover, ports=world.mortal))
        case "show" if world.records.opened():
            shown(world)
        case "end" if world.records.opened():
            world.workflows.endings.setdefault(world.record.execution, "TIMED_OUT")
    if told:
        delivery = world.delivery()
        world.dies(death, lambda: receive_pull_request(world.mortal, delivery))


HAPPENINGS = st.tuples(
    st.sampled_from(["push", "close", "open", "discover", "show", "end"]),
    st.integers(3, 8),
    st.booleans(),
    st.tuples(st.integers(0, CALLS), st.booleans()),
)


@examples(150)
@given(st.lists(HAPPENINGS, max_size=12))
def test_whatever_happens_the_reconciler_brings_all_to_what_the_forge_has(happenings):
    world = MortalWorld()
    for each in happenings:
        happen(world, each)
    for _ in range(3):
        world.reconcile()
    if not world.forge.seen[NUMBER].is_open and not list(world.records.many([("acme/infra", NUMBER)])):
        return  # It was closed before anybody heard of it.
    world.check_at_rest()

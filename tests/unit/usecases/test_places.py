"""Plans that wait for a free place: they stand in line once, are woken in order, and nobody is forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, any_drift, any_layer, any_pull_request_record
from tests.fakes.ports import changed, memory_ports, port
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.slots import assign_plan_slots
from tidegate.deploys.slots.assign_plan_slots import assign_free_plan_slots, assign_free_slots, release_plan_slots
from tidegate.deploys.slots.wait_for_plan_slot import wait_for_plan_slot
from tidegate.messages import WaitForPlanSlot
from tidegate.reconciler.free_plan_slots import free_plan_slots
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import NotFound, WrongState
from tidegate.rules.timestamp import LONG_AGO

LIMIT = 1


class World:
    """One place, layers that want it, and what answers their tokens."""

    layers, places, workflows = port("speculative_plans"), port("plan_slots"), port("workflows")
    records, drifts, event_publisher = port("pull_requests"), port("drifts"), port("event_publisher")

    def __init__(self):
        self.ports = memory_ports(place_limit=LIMIT)

    def layer(self, name, **fields):
        """Store a layer whose id is its name."""
        layer = any_layer(name, id=name, **fields)
        self.layers.create([layer])
        return layer

    def wait(self, name, token=None, *, alive=True, **attempt):
        token = token or f"token of {name}"
        if alive:
            self.workflows.waiting.add(token)
        wait_for_plan_slot(self.ports, WaitForPlanSlot(layer=name, token=token, **attempt))

    def take(self, name):
        return name in self.places.take(REPOSITORY, name, LIMIT).held

    def pull(self, *layers, number=5, **fields):
        """Let an execution work on the layers of a pull request; return its name."""
        record = self.records.save(any_pull_request_record(number, layers=layers, **fields))
        self.workflows.start_pull_request(record.execution, record.spec.id, record.spec.revision)
        return record.execution

    def reconcile(self):
        turn = ReconcilerPass(self.ports.clock, LONG_AGO)
        turn.until = turn.ago(-60)
        count = free_plan_slots(self.ports, turn)
        assert turn.failures == []
        return count

    @property
    def now(self):
        places = self.places.read(REPOSITORY)
        return places.held, places.line

    @property
    def woken(self):
        return [token.removeprefix("token of ") for token in self.workflows.settled]


@pytest.fixture
def world():
    world = World()
    for name in ("a", "b", "c"):
        world.layer(name)
    return world


class TestWaiting:
    def test_who_finds_no_place_stands_in_line_and_says_so(self, world):
        world.take("a")
        world.wait("b")
        assert (world.now, world.woken) == ((("a",), ("b",)), [])
        assert [each.id for each in world.event_publisher.layers] == ["b"]

    def test_a_place_that_became_free_in_between_is_taken_at_once(self, world):
        world.wait("b")
        assert (world.now, world.woken) == ((("b",), ()), ["b"])

    def test_those_who_wait_are_woken_in_order(self, world):
        world.take("a")
        world.wait("b")
        world.wait("c")
        for leaves in ("a", "b"):
            release_plan_slots(world.ports, REPOSITORY, [leaves])
        assert (world.now, world.woken) == ((("c",), ()), ["b", "c"])

    def test_a_state_that_is_tried_again_keeps_its_place_in_line_and_is_woken_by_its_newer_token(self, world):
        world.take("a")
        world.wait("b", "first", alive=False, entered=NOW, retry=0)
        world.wait("c", entered=NOW)
        world.wait("b", "second", entered=NOW, retry=1)
        assert world.now == (("a",), ("b", "c"))
        release_plan_slots(world.ports, REPOSITORY, ["a"])
        assert world.woken == ["second"]

    def test_a_late_copy_of_an_earlier_attempt_does_nothing(self, world):
        world.take("a")
        world.wait("b", "second", entered=NOW, retry=1)
        heard = list(world.event_publisher.layers)
        world.wait("b", "first", entered=NOW, retry=0)
        assert world.places.token(REPOSITORY, "b") == "second"
        assert world.event_publisher.layers == heard

    def test_who_was_given_a_place_by_an_older_token_goes_on_with_the_newer_one(self, world):
        world.take("b")
        world.wait("b")
        slots = world.places.read(INSTALLATION)
        assert (world.now, slots.line, world.event_publisher.freed) == ((("b",), ()), ("b",), 1)
        assign_free_slots(world.ports)
        assert world.woken == ["b"]

    def test_who_has_a_place_and_a_slot_by_then_goes_on_at_once(self, world):
        world.take("b")
        world.places.take(INSTALLATION, "b", LIMIT)
        world.wait("b")
        assert world.woken == ["b"]

    def test_drift_is_shown_nowhere_while_it_waits(self, world):
        world.layer("nightly", pull_request=0, schedule="nightly")
        world.take("a")
        world.wait("nightly")
        assert (world.now, world.event_publisher.layers) == ((("a",), ("nightly",)), [])

    def test_a_layer_that_has_ended_or_is_gone_does_not_wait(self, world):
        world.layer("old", state=LayerState.CANCELLED)
        with pytest.raises(WrongState):
            world.wait("old")
        with pytest.raises(NotFound):
            world.wait("gone")
        assert world.now == ((), ())


class TestGivingBack:
    def test_a_place_goes_past_those_with_whom_nobody_waits_any_more(self, world):
        world.take("a")
        world.wait("b", alive=False)
        world.wait("c")
        release_plan_slots(world.ports, REPOSITORY, ["a"])
        assert (world.now, world.woken) == ((("c",), ()), ["c"])

    def test_who_kept_no_token_is_not_waited_for(self, world):
        world.places.join(REPOSITORY, "b")
        release_plan_slots(world.ports, REPOSITORY, ["a"])
        assert world.now == ((), ())

    def test_one_call_looks_at_the_line_so_often_and_leaves_the_rest_to_the_next(self, world, monkeypatch):
        monkeypatch.setattr(assign_plan_slots, "_LOOKS", 1)
        world.take("a")
        world.wait("b", alive=False)
        world.wait("c")
        release_plan_slots(world.ports, REPOSITORY, ["a"])
        assert world.now == ((), ("c",))
        release_plan_slots(world.ports, REPOSITORY, ["a"])
        assert world.woken == ["c"]

    def test_nobody_leaves_where_nobody_is_named(self, world):
        world.take("a")
        release_plan_slots(world.ports, REPOSITORY, [])
        assert world.now == (("a",), ())

    def test_whoever_else_hands_the_place_over_meanwhile_wakes_the_first(self, world, monkeypatch):
        world.take("a")
        world.wait("b")
        seen = world.places.leave(REPOSITORY, ["a"])
        assign_free_plan_slots(world.ports, seen)
        assert assign_free_plan_slots(world.ports, seen) == 0
        assert (world.now, world.woken) == ((("b",), ()), ["b"])


class TestRepairing:
    def test_a_quiet_repository_is_not_looked_at_again(self, world):
        world.take("a")
        world.places.leave(REPOSITORY, ["a"])
        assert (world.reconcile(), list(world.places.busy())) == (0, [])

    def test_what_goes_on_keeps_its_place_and_its_place_in_line(self, world):
        world.pull("a", "b")
        world.take("a")
        world.wait("b")
        assert (world.reconcile(), world.now) == (0, (("a",), ("b",)))

    @pytest.mark.parametrize(
        "ends",
        [
            lambda world, _: world.layers.save(replace(world.layers.get("a"), state=LayerState.PLANNED)),
            lambda world, _: world.layers.remove(["a"]),
            lambda world, execution: world.workflows.stop_pull_request(execution, "Why."),
            lambda world, _: world.records.save(replace(world.records.get(REPOSITORY, 5), closed_at="now")),
            lambda world, _: world.records.save(replace(world.records.get(REPOSITORY, 5), layers=())),
            lambda world, _: world.records.save(replace(world.records.get(REPOSITORY, 5), attempt=2)),
        ],
        ids=["ended", "removed", "stopped", "closed", "overtaken", "never started"],
    )
    def test_the_place_of_what_does_not_go_on_is_given_to_the_next(self, world, ends):
        execution = world.pull("a")
        world.layer("other", pull_request=7)
        world.pull("other", number=7)
        world.take("a")
        world.wait("other")
        ends(world, execution)
        assert world.reconcile() == 1
        assert (world.now, world.woken) == ((("other",), ()), ["other"])

    def test_a_layer_without_a_pull_request_that_is_known_has_no_place(self, world):
        world.take("a")
        assert (world.reconcile(), world.now) == (1, ((), ()))

    def test_drift_keeps_its_place_while_its_run_goes_on(self, world):
        world.layer("drift", pull_request=0, schedule="nightly")
        record = world.drifts.save(any_drift(execution="run-1", layers=("drift",)))
        world.ports.drift_runs.start("run-1", REPOSITORY, "nightly")
        world.take("drift")
        assert (world.reconcile(), world.now) == (0, (("drift",), ()))
        world.drifts.save(replace(record, execution=""))
        assert (world.reconcile(), world.now) == (1, ((), ()))

    def test_drift_whose_run_was_lost_has_no_place(self, world):
        world.layer("drift", pull_request=0, schedule="nightly")
        world.drifts.save(any_drift(execution="run-1", layers=("drift",)))
        world.take("drift")
        assert (world.reconcile(), world.now) == (1, ((), ()))

    def test_who_got_a_place_and_was_not_woken_is_woken(self, world):
        world.pull("a", "b")
        world.take("a")
        world.wait("b")
        world.places.leave(REPOSITORY, ["a"])
        world.places.hand_over(REPOSITORY, "b", LIMIT)
        assert (world.reconcile(), world.woken) == (1, ["b"])
        assert (world.reconcile(), world.now) == (0, (("b",), ()))

    def test_a_free_place_is_handed_to_the_first_in_line(self, world):
        world.pull("a", "b")
        world.take("a")
        world.wait("b")
        world.places.leave(REPOSITORY, ["a"])
        assert (world.reconcile(), world.woken) == (1, ["b"])

    def test_a_limit_that_was_raised_is_used(self, world):
        world.pull("a", "b")
        world.take("a")
        world.wait("b")
        world.ports = changed(world.ports, place_limit=2)
        assert (world.reconcile(), world.woken) == (1, ["b"])

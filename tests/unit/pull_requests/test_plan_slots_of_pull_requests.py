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


class Scenario:
    """One place, layers that want it, and what answers their tokens."""

    layers, places, workflows = port("speculative_plans"), port("plan_slots"), port("workflows")
    records, drifts, event_publisher = port("pull_requests"), port("drifts"), port("event_publisher")

    def __init__(self):
        self.ports = memory_ports(plan_slot_limit=LIMIT)

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
def scenario():
    scenario = Scenario()
    for name in ("a", "b", "c"):
        scenario.layer(name)
    return scenario


class TestWaiting:
    def test_who_finds_no_place_stands_in_line_and_says_so(self, scenario):
        scenario.take("a")
        scenario.wait("b")
        assert (scenario.now, scenario.woken) == ((("a",), ("b",)), [])
        assert [each.id for each in scenario.event_publisher.layers] == ["b"]

    def test_a_place_that_became_free_in_between_is_taken_at_once(self, scenario):
        scenario.wait("b")
        assert (scenario.now, scenario.woken) == ((("b",), ()), ["b"])

    def test_those_who_wait_are_woken_in_order(self, scenario):
        scenario.take("a")
        scenario.wait("b")
        scenario.wait("c")
        for leaves in ("a", "b"):
            release_plan_slots(scenario.ports, REPOSITORY, [leaves])
        assert (scenario.now, scenario.woken) == ((("c",), ()), ["b", "c"])

    def test_a_state_that_is_tried_again_keeps_its_place_in_line_and_is_woken_by_its_newer_token(self, scenario):
        scenario.take("a")
        scenario.wait("b", "first", alive=False, entered=NOW, retry=0)
        scenario.wait("c", entered=NOW)
        scenario.wait("b", "second", entered=NOW, retry=1)
        assert scenario.now == (("a",), ("b", "c"))
        release_plan_slots(scenario.ports, REPOSITORY, ["a"])
        assert scenario.woken == ["second"]

    def test_a_late_copy_of_an_earlier_attempt_does_nothing(self, scenario):
        scenario.take("a")
        scenario.wait("b", "second", entered=NOW, retry=1)
        heard = list(scenario.event_publisher.layers)
        scenario.wait("b", "first", entered=NOW, retry=0)
        assert scenario.places.token(REPOSITORY, "b") == "second"
        assert scenario.event_publisher.layers == heard

    def test_who_was_given_a_place_by_an_older_token_goes_on_with_the_newer_one(self, scenario):
        scenario.take("b")
        scenario.wait("b")
        slots = scenario.places.read(INSTALLATION)
        assert (scenario.now, slots.line, scenario.event_publisher.freed) == ((("b",), ()), ("b",), 1)
        assign_free_slots(scenario.ports)
        assert scenario.woken == ["b"]

    def test_who_has_a_place_and_a_slot_by_then_goes_on_at_once(self, scenario):
        scenario.take("b")
        scenario.places.take(INSTALLATION, "b", LIMIT)
        scenario.wait("b")
        assert scenario.woken == ["b"]

    def test_drift_is_shown_nowhere_while_it_waits(self, scenario):
        scenario.layer("nightly", pull_request=0, schedule="nightly")
        scenario.take("a")
        scenario.wait("nightly")
        assert (scenario.now, scenario.event_publisher.layers) == ((("a",), ("nightly",)), [])

    def test_a_layer_that_has_ended_or_is_gone_does_not_wait(self, scenario):
        scenario.layer("old", state=LayerState.CANCELLED)
        with pytest.raises(WrongState):
            scenario.wait("old")
        with pytest.raises(NotFound):
            scenario.wait("gone")
        assert scenario.now == ((), ())


class TestGivingBack:
    def test_a_place_goes_past_those_with_whom_nobody_waits_any_more(self, scenario):
        scenario.take("a")
        scenario.wait("b", alive=False)
        scenario.wait("c")
        release_plan_slots(scenario.ports, REPOSITORY, ["a"])
        assert (scenario.now, scenario.woken) == ((("c",), ()), ["c"])

    def test_who_kept_no_token_is_not_waited_for(self, scenario):
        scenario.places.join(REPOSITORY, "b")
        release_plan_slots(scenario.ports, REPOSITORY, ["a"])
        assert scenario.now == ((), ())

    def test_one_call_looks_at_the_line_so_often_and_leaves_the_rest_to_the_next(self, scenario, monkeypatch):
        monkeypatch.setattr(assign_plan_slots, "_LOOKS", 1)
        scenario.take("a")
        scenario.wait("b", alive=False)
        scenario.wait("c")
        release_plan_slots(scenario.ports, REPOSITORY, ["a"])
        assert scenario.now == ((), ("c",))
        release_plan_slots(scenario.ports, REPOSITORY, ["a"])
        assert scenario.woken == ["c"]

    def test_nobody_leaves_where_nobody_is_named(self, scenario):
        scenario.take("a")
        release_plan_slots(scenario.ports, REPOSITORY, [])
        assert scenario.now == (("a",), ())

    def test_whoever_else_hands_the_place_over_meanwhile_wakes_the_first(self, scenario, monkeypatch):
        scenario.take("a")
        scenario.wait("b")
        seen = scenario.places.leave(REPOSITORY, ["a"])
        assign_free_plan_slots(scenario.ports, seen)
        assert assign_free_plan_slots(scenario.ports, seen) == 0
        assert (scenario.now, scenario.woken) == ((("b",), ()), ["b"])


class TestRepairing:
    def test_a_quiet_repository_is_not_looked_at_again(self, scenario):
        scenario.take("a")
        scenario.places.leave(REPOSITORY, ["a"])
        assert (scenario.reconcile(), list(scenario.places.busy())) == (0, [])

    def test_what_goes_on_keeps_its_place_and_its_place_in_line(self, scenario):
        scenario.pull("a", "b")
        scenario.take("a")
        scenario.wait("b")
        assert (scenario.reconcile(), scenario.now) == (0, (("a",), ("b",)))

    @pytest.mark.parametrize(
        "ends",
        [
            lambda scenario, _: scenario.layers.save(replace(scenario.layers.get("a"), state=LayerState.PLANNED)),
            lambda scenario, _: scenario.layers.remove(["a"]),
            lambda scenario, execution: scenario.workflows.stop_pull_request(execution, "Why."),
            lambda scenario, _: scenario.records.save(replace(scenario.records.get(REPOSITORY, 5), closed_at="now")),
            lambda scenario, _: scenario.records.save(replace(scenario.records.get(REPOSITORY, 5), layers=())),
            lambda scenario, _: scenario.records.save(replace(scenario.records.get(REPOSITORY, 5), attempt=2)),
        ],
        ids=["ended", "removed", "stopped", "closed", "overtaken", "never started"],
    )
    def test_the_place_of_what_does_not_go_on_is_given_to_the_next(self, scenario, ends):
        execution = scenario.pull("a")
        scenario.layer("other", pull_request=7)
        scenario.pull("other", number=7)
        scenario.take("a")
        scenario.wait("other")
        ends(scenario, execution)
        assert scenario.reconcile() == 1
        assert (scenario.now, scenario.woken) == ((("other",), ()), ["other"])

    def test_a_layer_without_a_pull_request_that_is_known_has_no_place(self, scenario):
        scenario.take("a")
        assert (scenario.reconcile(), scenario.now) == (1, ((), ()))

    def test_drift_keeps_its_place_while_its_run_goes_on(self, scenario):
        scenario.layer("drift", pull_request=0, schedule="nightly")
        record = scenario.drifts.save(any_drift(execution="run-1", layers=("drift",)))
        scenario.ports.drift_runs.start("run-1", REPOSITORY, "nightly")
        scenario.take("drift")
        assert (scenario.reconcile(), scenario.now) == (0, (("drift",), ()))
        scenario.drifts.save(replace(record, execution=""))
        assert (scenario.reconcile(), scenario.now) == (1, ((), ()))

    def test_drift_whose_run_was_lost_has_no_place(self, scenario):
        scenario.layer("drift", pull_request=0, schedule="nightly")
        scenario.drifts.save(any_drift(execution="run-1", layers=("drift",)))
        scenario.take("drift")
        assert (scenario.reconcile(), scenario.now) == (1, ((), ()))

    def test_who_got_a_place_and_was_not_woken_is_woken(self, scenario):
        scenario.pull("a", "b")
        scenario.take("a")
        scenario.wait("b")
        scenario.places.leave(REPOSITORY, ["a"])
        scenario.places.hand_over(REPOSITORY, "b", LIMIT)
        assert (scenario.reconcile(), scenario.woken) == (1, ["b"])
        assert (scenario.reconcile(), scenario.now) == (0, (("b",), ()))

    def test_a_free_place_is_handed_to_the_first_in_line(self, scenario):
        scenario.pull("a", "b")
        scenario.take("a")
        scenario.wait("b")
        scenario.places.leave(REPOSITORY, ["a"])
        assert (scenario.reconcile(), scenario.woken) == (1, ["b"])

    def test_a_limit_that_was_raised_is_used(self, scenario):
        scenario.pull("a", "b")
        scenario.take("a")
        scenario.wait("b")
        scenario.ports = changed(scenario.ports, plan_slot_limit=2)
        assert (scenario.reconcile(), scenario.woken) == (1, ["b"])

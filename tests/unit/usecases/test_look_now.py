"""Looking for drift now: a run is started once, unless one goes on, for who may write to the repository."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tests.builders import NOW, REPOSITORY, any_drift
from tests.fakes import MemoryDeliveries, MemoryDriftRuns, MemoryDrifts, MemoryForge
from tidegate.drift.look_now import DriftRerunReceiver, DriftStarter
from tidegate.ports import Delivery
from tidegate.rules.errors import NotFound


@dataclass
class LookingWorld:
    """A repository with the schedule ``nightly``, and people."""

    drifts: MemoryDrifts = field(default_factory=MemoryDrifts)
    runs: MemoryDriftRuns = field(default_factory=MemoryDriftRuns)
    deliveries: MemoryDeliveries = field(default_factory=MemoryDeliveries)
    forge: MemoryForge = field(default_factory=MemoryForge)

    def __post_init__(self):
        self.forge.writers.add("writer")
        self.forge.readers.add("reader")
        self.drifts.save(any_drift())

    @property
    def starter(self):
        return DriftStarter(self.drifts, self.runs)

    def pressed(self, by="writer", schedule="nightly", delivery="d-1"):
        """Somebody has the schedule's check run again."""
        fields = {"repository": REPOSITORY, "installation": 7, "sender": by, "schedule": schedule}
        asked = Delivery(delivery, "look_for_drift", fields, NOW)
        self.deliveries.store(asked)
        return DriftRerunReceiver(self.deliveries, self.forge, self.starter).receive(asked)

    def running(self, execution="run-1"):
        """A run goes on."""
        self.runs.start(execution, REPOSITORY, "nightly")
        stored = self.drifts.get(REPOSITORY, "nightly")
        self.drifts.save(any_drift(execution=execution, started_at=NOW, version=stored.version))


@pytest.fixture
def world():
    return LookingWorld()


def test_a_run_of_the_schedule_is_started(world):
    decision = world.starter.look(REPOSITORY, "nightly", "demand")
    assert decision.done
    assert world.runs.started == {"now-demand": (REPOSITORY, "nightly")}


def test_the_same_demand_once_more_starts_none(world):
    world.pressed()
    world.pressed()
    assert len(world.runs.started) == 1


def test_while_a_run_goes_on_no_other_is_started(world):
    world.running()
    decision = world.starter.look(REPOSITORY, "nightly", "demand")
    assert (decision.done, decision.reason) == (False, "The schedule nightly looks for drift already.")
    assert list(world.runs.started) == ["run-1"]


@pytest.mark.parametrize("ending", ["TIMED_OUT", "ABORTED"])
def test_a_run_that_died_is_not_waited_for(world, ending):
    world.running()
    world.runs.endings["run-1"] = ending
    assert world.starter.look(REPOSITORY, "nightly", "demand").done


def test_a_run_that_is_long_forgotten_is_not_waited_for(world):
    world.running()
    del world.runs.started["run-1"]
    assert world.starter.look(REPOSITORY, "nightly", "demand").done


def test_there_must_be_such_a_schedule(world):
    with pytest.raises(NotFound, match="weekly"):
        world.starter.look(REPOSITORY, "weekly", "demand")
    assert "weekly" in world.pressed(schedule="weekly")


def test_who_may_not_write_starts_nothing(world):
    assert world.pressed(by="reader") == f"reader may not write to {REPOSITORY}, so nothing is looked for."
    assert world.runs.started == {}

"""Looking for drift now: a run is started once, unless one goes on, for who may write to the repository."""

from __future__ import annotations

import pytest

from tests.builders import NOW, REPOSITORY, any_drift
from tests.fakes import MemoryForge
from tests.fakes.ports import memory_ports
from tidegate.drift.detect_drift_now import rerun_drift, start_drift
from tidegate.ports import Delivery
from tidegate.rules.errors import NotFound


class LookingScenario:
    """A repository with the schedule ``nightly``, and people."""

    def __init__(self):
        self.ports = memory_ports(forge=MemoryForge(writers={"writer"}, readers={"reader"}))
        self.ports.drifts.save(any_drift())

    @property
    def started(self):
        return self.ports.drift_runs.started

    def look(self, schedule="nightly"):
        return start_drift(self.ports, REPOSITORY, schedule, "demand")

    def clicked(self, by="writer", schedule="nightly"):
        """Somebody has the schedule's check run again."""
        fields = {"repository": REPOSITORY, "sender": by, "schedule": schedule}
        asked = Delivery("d-1", "detect_drift", fields, NOW)
        self.ports.deliveries.store(asked)
        return rerun_drift(self.ports, asked)

    def running(self, execution="run-1"):
        """A run goes on."""
        self.ports.drift_runs.start(execution, REPOSITORY, "nightly")
        stored = self.ports.drifts.get(REPOSITORY, "nightly")
        self.ports.drifts.save(any_drift(execution=execution, started_at=NOW, version=stored.version))


@pytest.fixture
def scenario():
    return LookingScenario()


def test_a_run_of_the_schedule_is_started(scenario):
    decision = scenario.look()
    assert decision.done
    assert scenario.started == {"now-demand": (REPOSITORY, "nightly")}


def test_the_same_demand_once_more_starts_none(scenario):
    scenario.clicked()
    scenario.clicked()
    assert len(scenario.started) == 1


def test_while_a_run_goes_on_no_other_is_started(scenario):
    scenario.running()
    decision = scenario.look()
    assert (decision.done, decision.reason) == (False, "The schedule nightly is already running.")
    assert list(scenario.started) == ["run-1"]


@pytest.mark.parametrize("ending", ["TIMED_OUT", "ABORTED"])
def test_a_run_that_died_is_not_waited_for(scenario, ending):
    scenario.running()
    scenario.ports.drift_runs.endings["run-1"] = ending
    assert scenario.look().done


def test_a_run_that_is_long_forgotten_is_not_waited_for(scenario):
    scenario.running()
    del scenario.started["run-1"]
    assert scenario.look().done


def test_there_must_be_such_a_schedule(scenario):
    with pytest.raises(NotFound, match="weekly"):
        scenario.look("weekly")
    assert "weekly" in scenario.clicked(schedule="weekly")


def test_who_may_not_write_starts_nothing(scenario):
    assert scenario.clicked(by="reader").startswith(f"reader has no write permission on {REPOSITORY}")
    assert scenario.started == {}

from __future__ import annotations

import pytest

from tests.builders import amended, any_root, deployment_in
from tests.fakes.ports import changed
from tests.unit.check_runs.shown_check_runs import publish
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.rules.state import State
from tidegate.gates.notify_waiting import notify_waiting
from tidegate.ports import Enrolled

TOLD = {state for state in State if state not in {State.QUEUED, State.PLANNING, State.APPROVED}} - {
    State.GATED,
    State.BLOCKED,
}


class PromotedScenario(Scenario):
    """A scenario in which a deployment of stack ``prod`` waits for ``dev``, where ``app`` is in one state."""

    def __init__(self, state=State.AWAITING_REVIEW, at=State.GATED):
        super().__init__()
        self.gated = self.member(deployment_in(at))
        self.app = self.member(deployment_in(state, id="app-1", root=any_root(name="app"), stack="dev"))

    def member(self, deployment):
        one = self.put(amended(deployment, change_set="change-1"))
        self.change_sets.enroll("change-1", [Enrolled(one.root.name, one.stack, one.id, one.request.at)])
        return one

    def others(self, count, state):
        for number in range(count):
            name = f"root-{number:04}"
            self.member(deployment_in(state, id=f"{name}-1", root=any_root(name=name), stack="dev"))

    def tell(self, deployment=None):
        notify_waiting(self.ports, deployment or self.app)
        return self.event_publisher.places


@pytest.mark.parametrize("state", State)
def test_who_waits_is_told_of_what_lasts_and_of_every_end(state):
    scenario = PromotedScenario(state)
    assert scenario.tell() == ([scenario.gated.id] if state in TOLD else [])


@pytest.mark.parametrize("at", State)
def test_only_who_is_at_a_gate_is_told(at):
    scenario = PromotedScenario(at=at)
    assert scenario.tell() == ([scenario.gated.id] if at in {State.GATED, State.BLOCKED} else [])


def test_who_waits_for_others_is_not_told():
    scenario = PromotedScenario()
    staging = scenario.member(
        deployment_in(State.AWAITING_REVIEW, id="staging-1", root=any_root(name="staging"), stack="staging")
    )
    assert scenario.tell(staging) == []


def test_a_deployment_without_a_change_tells_nobody():
    scenario = PromotedScenario()
    assert scenario.tell(amended(scenario.app, change_set="")) == []


@pytest.mark.parametrize(("others", "is_told"), [(9, True), (10, False)])
def test_who_cannot_list_all_that_it_waits_for_is_not_told_of_each(others, is_told):
    scenario = PromotedScenario()
    scenario.others(others, State.PLANNING)
    assert scenario.tell() == ([scenario.gated.id] if is_told else [])


def test_what_is_done_makes_no_list_longer():
    scenario = PromotedScenario()
    scenario.others(30, State.APPLIED)
    assert scenario.tell() == [scenario.gated.id]


def test_in_a_huge_change_nobody_is_told():
    scenario = PromotedScenario()
    scenario.others(1000, State.APPLIED)
    assert scenario.tell() == []


def test_a_state_that_is_shown_for_the_first_time_is_told_once():
    scenario = PromotedScenario()
    publish(scenario, scenario.app)
    publish(scenario, scenario.app)
    publish(scenario, scenario.app, again=True)
    assert scenario.event_publisher.places == [scenario.gated.id]


def test_what_could_not_be_told_is_told_when_it_is_published_once_more():
    scenario = PromotedScenario()
    told = []

    class Failing:
        def position_changed(self, deployment):
            told.append(deployment)
            if len(told) == 1:
                raise ConnectionError

    scenario.ports = changed(scenario.ports, event_publisher=Failing())
    with pytest.raises(ConnectionError):
        publish(scenario, scenario.app)
    publish(scenario, scenario.app)
    assert told == [scenario.gated.id, scenario.gated.id]

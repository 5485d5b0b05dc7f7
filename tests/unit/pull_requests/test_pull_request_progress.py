"""Progress of a pull request's plans: shown at once, then from time to time, and never after the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_layer
from tests.unit.pull_requests.publishing_scenario import Scenario, in_state, planned
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.pull_requests.pull_request_checks import show_layer, show_pull_request, stop_checks
from tidegate.rules.errors import NotYet
from tidegate.texts.markdown import escaped
from tidegate.vcs.rules.check_run import Conclusion


def test_planning_is_shown_at_once_and_followed():
    scenario = Scenario(planned("a"), in_state("b", LayerState.PLANNING))
    scenario.begin()
    assert scenario.check("tidegate/plan").title == "Planning starts"
    scenario.progress()
    assert scenario.check("tidegate/plan").title == "Planning… 1 of 2 done"
    assert len(scenario.forge.check_runs) == 1


def test_progress_says_how_many_wait_for_a_free_place_and_behind_what():
    scenario = Scenario(planned("a"), in_state("b", LayerState.WAITING), in_state("c", LayerState.WAITING))
    other = any_layer("other", pull_request=7, id="other", state=LayerState.PLANNING)
    scenario.layers.create([other])
    repository, (_, waiting, _) = scenario.record.spec.repository, scenario.record.layers
    scenario.places.take(repository, other.id, 1)
    scenario.places.join(repository, waiting)
    show_pull_request(scenario.ports, scenario.record, scenario.layers.many(scenario.record.layers))
    scenario.progress()
    shown = scenario.check("tidegate/plan")
    assert shown.title == "Planning… 1 of 3 done, 1 waiting for a concurrency slot"
    assert escaped("1 plan waits for a concurrency slot: 1 plan of the repository is running, of #7.") in shown.summary


def test_the_same_progress_costs_no_call():
    scenario = Scenario(planned("a"), in_state("b", LayerState.PLANNING))
    scenario.begin()
    scenario.progress()
    scenario.progress()
    assert len(scenario.forge.updates) == 1


def test_progress_waits_for_its_time():
    scenario = Scenario(in_state("a", LayerState.PLANNING))
    with pytest.raises(NotYet) as early:
        scenario.progress(not_before=4102444800)
    assert early.value.retry_after > 0


@pytest.mark.parametrize("fields", [{"closed_at": NOW}, {"discovered": ""}, {"layers": ()}])
def test_progress_is_not_shown_where_there_is_none(fields):
    scenario = Scenario(in_state("a", LayerState.PLANNING))
    scenario.begin()
    scenario.records.save(replace(scenario.record, **fields))
    scenario.progress()
    scenario.progress("acme/infra#99")
    assert not scenario.forge.updates


def test_progress_does_not_come_back_after_the_end():
    scenario = Scenario(planned())
    scenario.publish()
    scenario.progress()
    assert scenario.check("tidegate/plan").status == "completed"


@pytest.mark.parametrize("state", [LayerState.PLANNING, LayerState.CANCELLED])
def test_a_layer_that_has_no_end_to_show_has_no_check_run(state):
    scenario = Scenario(in_state("a", state))
    show_layer(scenario.ports, scenario.record.layers[0])
    show_layer(scenario.ports, "gone")
    assert not scenario.forge.check_runs


def test_what_is_overtaken_is_ended_with_the_reason():
    scenario = Scenario(in_state("a", LayerState.CANCELLED))
    scenario.begin()
    for _ in range(2):
        stop_checks(scenario.ports, scenario.record, "Superseded by abc1234.")
    assert scenario.check("tidegate/plan").title == "Superseded by abc1234."
    assert len(scenario.forge.updates) == 1


def test_what_was_never_shown_or_is_over_is_not_ended_again():
    scenario = Scenario(planned())
    stop_checks(scenario.ports, scenario.record, "Superseded by abc1234.")
    assert not scenario.forge.check_runs
    scenario.publish()
    stop_checks(scenario.ports, scenario.record, "Superseded by abc1234.")
    assert scenario.check("tidegate/plan").conclusion is Conclusion.SUCCESS

"""No execution comes near to what AWS allows one: 25,000 events of its history, and a year."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.stepfunctions.machines import CLUSTER_MACHINES, MACHINES
from tests.stepfunctions.worst_case import UnboundedLoop, Worst, worst_case, worst_cases

#: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html: "Maximum execution history size", "Maximum
#: execution time". What is left free is for events that this does not know, and for clocks.
MOST_EVENTS, MOST_DAYS = 25_000 * 8 // 10, 365 * 9 // 10

_DEFINITIONS = {machine.name: machine.definition for machine in (*MACHINES, *CLUSTER_MACHINES)}


def _is_too_much(worst: Worst) -> bool:
    return worst.cost.events > MOST_EVENTS or worst.days > MOST_DAYS


@pytest.mark.parametrize("name", _DEFINITIONS)
def test_an_execution_stays_within_its_history_and_its_year(name: str):
    assert not [worst for worst in worst_cases(name, _DEFINITIONS[name]) if _is_too_much(worst)]


def _inline(states: dict[str, Any]) -> None:
    for state in states.values():
        if state["Type"] == "Map":
            state["ItemProcessor"]["ProcessorConfig"] = {"Mode": "INLINE"}


def _retried_more(states: dict[str, Any]) -> None:
    for state in states.values():
        _retried_more(state.get("ItemProcessor", {}).get("States", {}))
        for retry in state.get("Retry", ()):
            retry["MaxAttempts"] *= 2


def _patient(states: dict[str, Any]) -> None:
    states["Plan, review and apply"]["TimeoutSeconds"] = 200 * 86_400


def _patient_at_the_gate(states: dict[str, Any]) -> None:
    states["Wait for the stacks before this one"]["TimeoutSeconds"] = 56 * 86_400


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("deploy", _retried_more),
        ("deploy", _patient),
        ("terraform", _patient_at_the_gate),
        ("pull_request", _inline),
        ("drift", _inline),
        ("cluster-management-upgrade-simulated", _retried_more),
        ("cluster_error", _retried_more),
    ],
)
def test_a_definition_that_allows_more_is_found(name: str, change: Callable[[dict[str, Any]], None]):
    definition = copy.deepcopy(_DEFINITIONS[name])
    change(definition["States"])
    assert [worst for worst in worst_cases(name, definition) if _is_too_much(worst)]


def test_a_run_that_may_plan_one_layer_at_a_time_ends_at_its_time_limit():
    definition = copy.deepcopy(_DEFINITIONS["drift"])
    definition["States"]["Check the roots"]["MaxConcurrency"] = 1
    assert worst_case("drift", definition).days == 60
    del definition["TimeoutSeconds"]
    assert worst_case("drift", definition).days > 365


def test_a_loop_that_nothing_bounds_is_found():
    definition = copy.deepcopy(_DEFINITIONS["terraform"])
    definition["States"]["Was the plan approved?"]["Default"] = "Was the plan approved?"
    with pytest.raises(UnboundedLoop, match="AGAIN"):
        worst_case("terraform", definition)

"""Each way through each state machine, in moto's interpreter, with answers that are written down (walks.py).

That the real functions answer so is told by their own tests, and that all of it fits together by tests/e2e.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.stepfunctions import interpreter
from tests.stepfunctions.contracts import BY_TOKEN, CONTRACTS
from tests.stepfunctions.histories import all_edges
from tests.stepfunctions.interpreter import Fails
from tests.stepfunctions.machines import MACHINES
from tests.stepfunctions.walks import WAYS
from tests.stepfunctions.way import GIVEN

_BY_NAME = {machine.name: machine for machine in MACHINES}


@pytest.fixture(scope="module")
def walked():
    """Return a function that takes a machine along a way, once, in a process that may change moto."""
    done = {}
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as other:

        def walk(way):
            if str(way) not in done:
                given = {**GIVEN[way.machine], **way.given}
                done[str(way)] = other.submit(interpreter.walk, way.machine, given, way.script()).result()
            return done[str(way)]

        yield walk


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_machine_goes_its_way_and_records_what_failed(walked, way):
    went = walked(way)
    assert went.states == way.states
    recorded = [payload["error"] for _, payload in went.asked if payload.get("error")]
    assert set(recorded) == ({way.records} if way.records else set())
    for state, payload in went.asked:
        if "cause" in payload:
            assert (payload["error"] is None) == (payload["cause"] is None), state
    failed = way.states[-1] in {"Internal error", "Task failed"}
    assert went.end == ("ExecutionFailed" if failed else "ExecutionSucceeded")
    _understood(way, went)


def _understood(way, went):
    """Every step is asked what it understands, and answers what it may."""
    for state, payload in went.asked:
        fields = dict(payload)
        kind = fields.pop("kind", None)
        assert kind == _kind(way.machine, state)
        if kind:
            CONTRACTS[kind][0].model_validate(fields)
    for state, answers in way.script().items():
        output = BY_TOKEN.get(state) or CONTRACTS.get(_kind(way.machine, state), (None, None))[1]
        for answer in answers:
            if output is not None and not isinstance(answer, Fails):
                assert output.model_validate(answer).model_dump(mode="json") == answer


def _kind(machine, state):
    payload = _BY_NAME[machine].states[state].get("Arguments", {}).get("Payload", {})
    return payload.get("kind") if isinstance(payload, dict) else None


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_state_and_every_way_out_of_it_is_taken(walked, machine):
    went = [walked(way) for way in WAYS if way.machine == machine.name]
    assert set(machine.states) - {state for each in went for state in each.states} == set()
    assert all_edges(machine.name) - {edge for each in went for edge in each.edges} == set()


def test_each_way_has_a_name_of_its_own():
    assert len({str(way) for way in WAYS}) == len(WAYS)

"""The files and the messages agree: what a task sends is its function's input, what is read is its output."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import BaseModel

from tests.stepfunctions.contracts import BY_TOKEN, CONTRACTS, REPORTED, STOPPED
from tests.stepfunctions.machines import CLUSTER_MACHINES, MACHINES, Machine, expressions
from tidegate.bootstrap.table import STEPS
from tidegate.clusters.rules import execution_refusals
from tidegate.rules import errors
from tidegate_cdk.function_specs import SPECS

AWS = re.compile(r"(States|Lambda|Runtime|Sandbox|StepFunctions|Sfn|ECS|AmazonECS)\.\w+")

ALL = pytest.mark.parametrize("machine", [*MACHINES, *CLUSTER_MACHINES], ids=lambda machine: machine.name)


def _kind(state: dict[str, Any]) -> str:
    return state["Arguments"]["Payload"]["kind"]


def _fields(state: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in state["Arguments"]["Payload"].items() if field != "kind"}


@ALL
def test_a_task_sends_exactly_the_input_of_the_function_that_takes_its_kind(machine: Machine):
    for name, state in machine.lambdas():
        expected, _ = CONTRACTS[_kind(state)]
        fields = expected.model_fields
        assert {field for field, info in fields.items() if info.is_required()} <= set(_fields(state)) <= set(fields), (
            name
        )
        (function,) = (spec for spec in SPECS if state["Arguments"]["FunctionName"] == f"${{{spec.id}}}")
        assert STEPS[function.name][_kind(state)].message is expected, name


@ALL
def test_constants_in_a_payload_are_allowed_by_the_message(machine: Machine):
    for name, state in machine.lambdas():
        properties = CONTRACTS[_kind(state)][0].model_json_schema().get("properties", {})
        for field, value in _fields(state).items():
            if not (isinstance(value, str) and "{%" in value):
                assert value in properties[field].get("enum", [value]), f"{name}: {field}"


@ALL
def test_a_token_reaches_the_function_that_keeps_it(machine: Machine):
    for name, state in machine.lambdas():
        waits = state["Resource"].endswith("waitForTaskToken")
        assert _fields(state).get("token") == ("{% $states.context.Task.Token %}" if waits else None), name


@ALL
def test_what_a_task_reads_of_its_result_is_a_field_of_it(machine: Machine):
    for name, state in machine.lambdas():
        answer = BY_TOKEN.get(name) or CONTRACTS[_kind(state)][1] or BaseModel
        texts = expressions({"Assign": state.get("Assign", {}), "Output": state.get("Output", "")})
        read = {
            word for text in texts for word in re.findall(r"\$states\.result\.(?:Payload\.)?(?!Payload)(\w+)", text)
        }
        assert read <= set(answer.model_fields), name


@ALL
def test_a_choice_reads_only_fields_of_the_answer_before_it(machine: Machine):
    for name, state in machine.states.items():
        if state["Type"] != "Choice":
            continue
        read = {word for text in expressions(state) for word in re.findall(r"\$states\.input\.(\w+)", text)}
        for before, task in machine.lambdas():
            normal = {target for how, target in machine.edges(before) if how == "next"}
            if name in normal and read:
                answer = CONTRACTS[_kind(task)][1]
                assert answer is not None, before
                assert read <= set(answer.model_fields), f"{name} after {before}"


@ALL
def test_a_choice_asks_for_every_word_that_the_answer_can_be(machine: Machine):
    """A word that no branch names takes the default, so exactly one word may be left for it."""
    for name, state in machine.states.items():
        words = {word for text in expressions(state.get("Choices", [])) for word in re.findall(r"= '([^']+)'", text)}
        field = {word for text in expressions(state.get("Choices", [])) for word in re.findall(r"input\.(\w+) =", text)}
        for before, task in machine.lambdas():
            if words and name in {target for how, target in machine.edges(before) if how == "next"}:
                answer = CONTRACTS[_kind(task)][1]
                assert answer is not None
                (only,) = field
                allowed = set(answer.model_json_schema()["properties"][only]["enum"])
                assert words <= allowed, name
                assert len(allowed - words) == 1, name


@ALL
def test_every_error_that_is_retried_or_caught_exists(machine: Machine):
    ours = {
        name for module in (errors, execution_refusals) for name, it in vars(module).items() if isinstance(it, type)
    }
    for name, task in machine.tasks():
        for rule in (*task.get("Retry", []), *task.get("Catch", [])):
            for error in rule["ErrorEquals"]:
                assert error in ours | REPORTED | {STOPPED} or AWS.fullmatch(error), f"{name}: {error}"


def test_every_contract_belongs_to_a_step_that_a_machine_calls():
    called = {_kind(state) for machine in (*MACHINES, *CLUSTER_MACHINES) for _, state in machine.lambdas()}
    assert called == set(CONTRACTS)

"""Step Functions is asked about the state machines before a deploy."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest
from botocore.stub import ANY, Stubber

from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.workflow import WORKFLOWS
from tidegate_cli.doctor.definitions import check_definitions

HERE = Path(__file__).resolve().parents[3] / "stepfunctions"
MACHINES = len(list(HERE.glob("*.asl.yaml"))) + len(WORKFLOWS) * len(PROVIDERS)
ASKED = {"definition": ANY, "type": "STANDARD", "severity": "ERROR"}
TAKEN = {"result": "OK", "diagnostics": [], "truncated": False}


@pytest.fixture
def states():
    client = boto3.client(
        "stepfunctions", region_name="eu-west-1", aws_access_key_id="none", aws_secret_access_key="none"
    )
    with Stubber(client) as stub:
        yield client, stub


def _says(stub: Stubber, *answers: dict[str, object]) -> None:
    for answer in answers:
        stub.add_response("validate_state_machine_definition", answer, ASKED)


def test_definitions_that_can_be_created_are_well(states):
    client, stub = states
    _says(stub, *[TAKEN] * MACHINES)
    assert check_definitions(client, HERE).verdict == "ok"


def test_a_definition_that_is_refused_fails_and_says_where(states):
    client, stub = states
    problem = {
        "severity": "ERROR",
        "code": "SCHEMA_VALIDATION_FAILED",
        "message": "Not supported",
        "location": "/States/A",
    }
    _says(stub, {"result": "FAIL", "diagnostics": [problem], "truncated": False}, *[TAKEN] * (MACHINES - 1))
    found = check_definitions(client, HERE)
    assert found.verdict == "fail"
    assert ".asl.yaml: SCHEMA_VALIDATION_FAILED at /States/A" in found.found


def test_who_may_not_ask_is_warned(states):
    client, stub = states
    stub.add_client_error("validate_state_machine_definition", "AccessDeniedException")
    found = check_definitions(client, HERE)
    assert (found.verdict, "states:ValidateStateMachineDefinition" in found.do) == ("warn", True)


def test_nothing_that_the_template_fills_in_is_left_to_ask_about(states):
    client, _ = states
    asked = []
    client.meta.events.register("provide-client-params.sfn", lambda params, **_: asked.append(params["definition"]))
    _says(states[1], *[TAKEN] * MACHINES)
    check_definitions(client, HERE)
    assert len(asked) == MACHINES
    assert not [definition for definition in asked if "${" in definition]

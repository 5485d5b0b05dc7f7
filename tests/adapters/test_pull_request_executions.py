"""Executions of the pull-request machine: started, looked at and stopped by their names."""

from __future__ import annotations

import json

import pytest
from moto import mock_aws

from tests.adapters.refusals import Refuses
from tidegate.aws.boto import client
from tidegate.aws.stepfunctions import StepFunctionsWorkflows
from tidegate.rules.errors import CloudUnavailable, NotFound

NAME, PULL_REQUEST, REVISION = "acme-infra-5-3", "acme/infra#5", "3+2"
DEFINITION = json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}})


@pytest.fixture
def machine(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        states = client("stepfunctions")
        role = "arn:aws:iam::123456789012:role/machine"
        machines = [
            states.create_state_machine(name=name, definition=DEFINITION, roleArn=role)["stateMachineArn"]
            for name in ("deploy", "pull-request")
        ]
        yield states, machines[1], StepFunctionsWorkflows(states, *machines)


def test_an_execution_is_started_once_with_its_pull_request_and_revision(machine):
    states, arn, workflows = machine
    workflows.start_pull_request(NAME, PULL_REQUEST, REVISION)
    workflows.start_pull_request(NAME, PULL_REQUEST, REVISION)
    (execution,) = states.list_executions(stateMachineArn=arn)["executions"]
    described = states.describe_execution(executionArn=execution["executionArn"])
    assert execution["name"] == NAME
    assert json.loads(described["input"]) == {"pull_request": PULL_REQUEST, "revision": REVISION}


def test_an_execution_is_stopped_with_a_cause_as_often_as_one_likes(machine):
    _, _, workflows = machine
    workflows.start_pull_request(NAME, PULL_REQUEST, REVISION)
    assert workflows.pull_request_ending(NAME) is None
    workflows.stop_pull_request(NAME, "A newer commit came.")
    workflows.stop_pull_request(NAME, "A newer commit came.")
    assert workflows.pull_request_ending(NAME) == "ABORTED"


def test_an_execution_that_never_was_counts_as_stopped_and_has_no_ending(machine):
    _, _, workflows = machine
    workflows.stop_pull_request("never", "A newer commit came.")
    with pytest.raises(NotFound):
        workflows.pull_request_ending("never")


@pytest.mark.parametrize(
    "ask",
    [
        lambda workflows: workflows.start_pull_request(NAME, PULL_REQUEST, REVISION),
        lambda workflows: workflows.stop_pull_request(NAME, "A newer commit came."),
        lambda workflows: workflows.pull_request_ending(NAME),
    ],
)
def test_what_is_throttled_is_tried_again_by_whoever_asked(ask):
    with pytest.raises(CloudUnavailable):
        ask(StepFunctionsWorkflows(Refuses("ThrottlingException"), "deploy", "pull-request"))

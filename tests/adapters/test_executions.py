"""Executions of Step Functions: started once, told of, answered."""

from __future__ import annotations

import json

import pytest

from tests.adapters.refusals import Refuses
from tidegate.aws.boto import client
from tidegate.aws.stepfunctions import StepFunctionsClusters, StepFunctionsDriftRuns, StepFunctionsWorkflows
from tidegate.rules.errors import CloudUnavailable, NotFound, TooLate


def machine(machines, name):
    """Make a state machine that does nothing; return its ARN."""
    role = "arn:aws:iam::123456789012:role/machine"
    definition = json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}})
    return machines.create_state_machine(name=name, definition=definition, roleArn=role)["stateMachineArn"]


def test_an_execution_is_started_under_its_name_with_its_queue(cloud):
    machines = client("stepfunctions")
    arn = machine(machines, "deploy")
    workflows = StepFunctionsWorkflows(machines, arn)
    workflows.start_deploy("worker-1", "acme/infra||network")
    workflows.start_deploy("worker-1", "acme/infra||network")
    (execution,) = machines.list_executions(stateMachineArn=arn)["executions"]
    described = machines.describe_execution(executionArn=execution["executionArn"])
    assert (execution["name"], json.loads(described["input"])) == ("worker-1", {"queue": "acme/infra||network"})


def test_how_an_execution_ended_is_told_by_its_name(cloud):
    machines = client("stepfunctions")
    arn = machine(machines, "deploy")
    workflows = StepFunctionsWorkflows(machines, arn)
    with pytest.raises(NotFound, match="worker-1"):
        workflows.ending("worker-1")
    workflows.start_deploy("worker-1", "acme/infra||network")
    assert workflows.ending("worker-1") is None
    machines.stop_execution(executionArn=arn.replace(":stateMachine:", ":execution:") + ":worker-1")
    assert workflows.ending("worker-1") == "ABORTED"


def test_a_look_for_drift_is_started_once_and_its_end_is_told(cloud):
    machines = client("stepfunctions")
    arn = machine(machines, "drift")
    runs = StepFunctionsDriftRuns(machines, arn)
    with pytest.raises(NotFound, match="now-1"):
        runs.ending("now-1")
    runs.start("now-1", "acme/infra", "nightly")
    runs.start("now-1", "acme/infra", "nightly")
    (execution,) = machines.list_executions(stateMachineArn=arn)["executions"]
    described = machines.describe_execution(executionArn=execution["executionArn"])
    assert json.loads(described["input"]) == {"repository": "acme/infra", "schedule": "nightly"}
    machines.stop_execution(executionArn=execution["executionArn"])
    assert runs.ending("now-1") == "ABORTED"


def test_the_error_of_a_cluster_is_handled_once_and_its_executions_are_known_to_run(cloud):
    machines = client("stepfunctions")
    arn = machine(machines, "acme-cluster-error")
    workflows = StepFunctionsClusters(machines, arn.removesuffix("cluster-error"))
    assert workflows.is_running("cluster-error", "d1-error") is False
    for _ in range(2):
        workflows.start_error("d1-error", "d1", "d1", "Execution.ABORTED", "It was stopped.")
    (execution,) = machines.list_executions(stateMachineArn=arn)["executions"]
    described = machines.describe_execution(executionArn=execution["executionArn"])
    given = {"deployment": "d1", "execution": "d1", "error": "Execution.ABORTED", "cause": "It was stopped."}
    assert json.loads(described["input"]) == given
    assert workflows.is_running("cluster-error", "d1-error") is True
    machines.stop_execution(executionArn=execution["executionArn"])
    assert workflows.is_running("cluster-error", "d1-error") is False


def test_that_it_is_not_known_whether_an_execution_runs_is_no_ending():
    with pytest.raises(CloudUnavailable):
        StepFunctionsWorkflows(Refuses("ThrottlingException"), "machine").ending("worker-1")


def test_a_start_that_is_throttled_is_tried_again_by_whoever_asked():
    with pytest.raises(CloudUnavailable):
        StepFunctionsWorkflows(Refuses("ThrottlingException"), "machine").start_deploy("worker-1", "queue")


@pytest.mark.parametrize("code", ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"])
def test_an_answer_that_nobody_waits_for_is_too_late(code):
    workflows = StepFunctionsWorkflows(Refuses(code), "machine")
    with pytest.raises(TooLate):
        workflows.settle("token", {})
    with pytest.raises(TooLate):
        workflows.fail("token", "Error", "cause")


def test_a_failure_fits_the_limits_of_step_functions():
    sent = {}

    class Keeps:
        def send_task_failure(self, **arguments):
            sent.update(arguments)

    StepFunctionsWorkflows(Keeps(), "machine").fail("token", "E" * 300, "c" * 40_000)
    assert (len(sent["error"]), len(sent["cause"])) == (256, 32_768)

"""The tasks of runners as ECS tells and stops them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from tests.instants import utc
from tidegate.deploys.adapters.ecs import EcsRunners
from tidegate.deploys.rules.runner_task import RunnerTask
from tidegate.rules.errors import CloudUnavailable

CLUSTER = "arn:aws:ecs:eu-west-1:123456789012:cluster/tidegate"
TASK = "arn:aws:ecs:eu-west-1:123456789012:task/tidegate/1"
MADE = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
def stub():
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    with Stubber(boto3.client("ecs", region_name="eu-west-1", **keys)) as stub:
        yield stub
        stub.assert_no_pending_responses()


def described(arn: str, **variables: str) -> dict[str, Any]:
    environment = [{"name": name, "value": value} for name, value in variables.items()]
    return {"taskArn": arn, "createdAt": MADE, "overrides": {"containerOverrides": [{"environment": environment}]}}


def test_tasks_that_were_started_for_a_job_are_listed_page_by_page(stub):
    tasks = [described(TASK, TIDEGATE_JOB="network-plan-1"), described(f"{TASK}2", OTHER="by hand")]
    stub.add_response("list_tasks", {"taskArns": [TASK, f"{TASK}2"], "nextToken": "more"}, {"cluster": CLUSTER})
    stub.add_response("describe_tasks", {"tasks": tasks}, {"cluster": CLUSTER, "tasks": [TASK, f"{TASK}2"]})
    stub.add_response("list_tasks", {"taskArns": []}, {"cluster": CLUSTER, "nextToken": "more"})
    expected = [RunnerTask(TASK, "network-plan-1", utc("2026-03-02T09:00"))]
    assert EcsRunners(stub.client, CLUSTER).running() == expected


def test_a_task_is_stopped_with_its_reason(stub):
    stub.add_response("stop_task", {}, {"cluster": CLUSTER, "task": TASK, "reason": "No plan is waiting."})
    EcsRunners(stub.client, CLUSTER).stop(TASK, "No plan is waiting.")


def test_a_task_that_is_gone_counts_as_stopped(stub):
    stub.add_client_error("stop_task", "InvalidParameterException", "The referenced task was not found.")
    EcsRunners(stub.client, CLUSTER).stop(TASK, "No plan is waiting.")


def test_what_aws_refuses_is_told(stub):
    stub.add_client_error("stop_task", "AccessDeniedException")
    with pytest.raises(CloudUnavailable, match="ECS"):
        EcsRunners(stub.client, CLUSTER).stop(TASK, "No plan is waiting.")

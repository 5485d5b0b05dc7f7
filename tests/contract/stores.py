"""The stores under one contract: in memory, and in DynamoDB as moto alone plays it in this process (decision 235)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.fakes import (
    MemoryChangeSets,
    MemoryCheckRuns,
    MemoryDeliveries,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryDrifts,
    MemoryJobLogs,
    MemoryJobs,
    MemoryPlanRunners,
    MemoryPlanSlots,
    MemoryPullRequests,
    MemoryQueueSnapshots,
    MemoryRepositoryIndex,
    MemorySpeculativePlans,
)
from tests.fakes.insights import MemoryInsights
from tidegate.aws.client import AwsError
from tidegate.changes.adapters.change_sets import DynamoChangeSets
from tidegate.deploys.adapters.deployments import DynamoCheckRuns, DynamoDeployments
from tidegate.deploys.adapters.jobs import DynamoJobLogs, DynamoJobs
from tidegate.deploys.adapters.plan_runners import DynamoPlanRunners
from tidegate.deploys.adapters.plan_slots import DynamoPlanSlots
from tidegate.deploys.adapters.queue_snapshots import DynamoQueueSnapshots
from tidegate.deploys.adapters.queues import DynamoDeployQueues
from tidegate.discovery.adapters.repository_index import DynamoRepositoryIndex
from tidegate.drift.adapters.drifts import DynamoDrifts
from tidegate.insights.adapters.days import DynamoInsights
from tidegate.ports import (
    ChangeSets,
    CheckRuns,
    Deliveries,
    Deployments,
    DeployQueues,
    Drifts,
    Insights,
    JobLogs,
    Jobs,
    PlanRunners,
    PlanSlots,
    PullRequests,
    QueueSnapshots,
    RepositoryIndex,
    SpeculativePlans,
)
from tidegate.pull_requests.adapters.pull_requests import DynamoPullRequests, DynamoSpeculativePlans
from tidegate.vcs.adapters.deliveries import DynamoDeliveries
from tidegate_cdk.indexes import INDEXES

KINDS = ("memory", "dynamodb")


#: The table's keys and indexes, as the CDK stack defines them.
TABLE: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"}
        for name in sorted({"pk", "sk"} | {key for keys, _ in INDEXES.values() for key in keys})
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": name,
            "KeySchema": [
                {"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=True)
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(shown)},
        }
        for name, (keys, shown) in INDEXES.items()
    ],
    "BillingMode": "PAY_PER_REQUEST",
}

_numbers = itertools.count()


@dataclass(frozen=True)
class Stores:
    queues: DeployQueues
    deployments: Deployments
    check_runs: CheckRuns
    jobs: Jobs
    logs: JobLogs
    deliveries: Deliveries
    repository_index: RepositoryIndex
    boards: QueueSnapshots
    change_sets: ChangeSets
    pull_requests: PullRequests
    layers: SpeculativePlans
    drifts: Drifts
    places: PlanSlots
    plan_runners: PlanRunners
    insights: Insights


class BotoAws:
    """The signing client's ``call`` on boto3, which moto can intercept."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def call(self, _service: str, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._client._make_api_call(operation, payload)
        except ClientError as error:
            refusal = error.response["Error"]
            raise AwsError("dynamodb", operation, refusal["Code"], refusal["Message"]) from error


def memory_stores() -> Stores:
    deployments = MemoryDeployments()
    queues = MemoryDeployQueues(deployments)
    return Stores(
        queues,
        deployments,
        MemoryCheckRuns(),
        MemoryJobs(),
        MemoryJobLogs(),
        MemoryDeliveries(),
        MemoryRepositoryIndex(deployments, queues),
        MemoryQueueSnapshots(),
        MemoryChangeSets(),
        MemoryPullRequests(),
        MemorySpeculativePlans(),
        MemoryDrifts(),
        MemoryPlanSlots(),
        MemoryPlanRunners(),
        MemoryInsights(deployments),
    )


@contextmanager
def dynamodb_client() -> Iterator[Any]:
    """Give a client of a DynamoDB of this process's own."""
    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    with mock_aws():
        config = Config(retries={"total_max_attempts": 1}, parameter_validation=True)
        yield boto3.client("dynamodb", region_name="eu-central-1", config=config)


def new_table(client: Any) -> str:
    """Create an empty table and return its name."""
    name = f"tidegate-{next(_numbers)}"
    client.create_table(TableName=name, **TABLE)
    return name


def dynamodb_stores(client: Any, table: str) -> Stores:
    return Stores(
        DynamoDeployQueues(client, table),
        DynamoDeployments(client, table),
        DynamoCheckRuns(client, table),
        DynamoJobs(client, table, now=lambda: 1_000_000.0),
        DynamoJobLogs(client, table, now=lambda: 1_000_000.0),
        DynamoDeliveries(BotoAws(client), table, now=lambda: 1_000_000.0),  # type: ignore[arg-type]
        DynamoRepositoryIndex(client, table),
        DynamoQueueSnapshots(client, table, now=lambda: 1_000_000.0),
        DynamoChangeSets(client, table, now=lambda: 1_000_000.0),
        DynamoPullRequests(client, table, now=lambda: 1_000_000.0),
        DynamoSpeculativePlans(client, table, now=lambda: 1_000_000.0),
        DynamoDrifts(client, table),
        DynamoPlanSlots(client, table, now=lambda: 1_000_000.0),
        DynamoPlanRunners(client, table),
        DynamoInsights(client, table),
    )

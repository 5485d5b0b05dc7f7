"""Two installations in one account: each deploys into its own records, and neither sees or reaches the other."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.conftest import denied
from tests.e2e.deadlines import eventually
from tests.e2e.installation import Installation
from tests.e2e.modules import thing
from tests.e2e.project import Project
from tidegate_local.client import LocalCloud

#: Messages that nobody can see now.
_LATER = ("Delayed", "NotVisible")
ROOT, REPOSITORY, OTHER = "live/app", "acme/both", "acme-prod"

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def cloud(tmp_path_factory) -> Iterator[LocalCloud]:
    log = tmp_path_factory.mktemp("two") / "cloud.log"
    with LocalCloud(beside=(OTHER,), clock=False, log=log) as cloud:
        yield cloud


class Belongings:
    """What an installation has, and what it keeps there: a stranger's work in it would change that."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud, self._client = cloud, cache(cloud.client)
        listed = self._pages("cloudformation", "list_stack_resources", StackName=cloud.info["stack"])
        every = [item for page in listed for item in page["StackResourceSummaries"]]
        self.kinds = {
            item["PhysicalResourceId"]: item["ResourceType"] for item in every if "PhysicalResourceId" in item
        }

    def contents(self) -> dict[str, Any]:
        """Return what everything holds now, by its name."""
        readers: dict[str, Callable[[str], Any]] = {
            "AWS::DynamoDB::Table": lambda name: self._client("dynamodb").scan(TableName=name)["Items"],
            "AWS::S3::Bucket": self._objects,
            "AWS::StepFunctions::StateMachine": self._executions,
            "AWS::Logs::LogGroup": self._messages,
            "AWS::SQS::Queue": self._waiting,
            "AWS::ECS::Cluster": self._tasks,
        }
        kept = {name: readers[kind](name) for name, kind in self.kinds.items() if kind in readers}
        return {**kept, "audit": self._cloud.audit(), "states": self._objects(self._cloud.info["state_bucket"])}

    def at_rest(self) -> dict[str, Any]:
        """Return the contents once they change no more, and no queue holds back what is still to come."""
        seen: list[dict[str, Any]] = [{}]
        queues = [name for name, kind in self.kinds.items() if kind == "AWS::SQS::Queue"]

        def unchanged() -> bool:
            seen.append(self.contents())
            later = [int(seen[-1][queue][f"ApproximateNumberOfMessages{when}"]) for queue in queues for when in _LATER]
            return seen[-1] == seen[-2] and not any(later)

        eventually(unchanged, what=f"{self._cloud.info['prefix']} at rest")
        return seen[-1]

    def _pages(self, service: str, call: str, **wanted: str) -> Iterator[Mapping[str, Any]]:
        yield from self._client(service).get_paginator(call).paginate(**wanted)

    def _objects(self, bucket: str) -> dict[str, str]:
        pages = self._pages("s3", "list_objects_v2", Bucket=bucket)
        return {item["Key"]: item["ETag"] for page in pages for item in page.get("Contents", [])}

    def _executions(self, arn: str) -> list[tuple[str, str]]:
        pages = self._pages("stepfunctions", "list_executions", stateMachineArn=arn)
        return [(item["name"], item["status"]) for page in pages for item in page["executions"]]

    def _messages(self, group: str) -> list[str]:
        pages = self._pages("logs", "filter_log_events", logGroupName=group)
        return [event["message"] for page in pages for event in page["events"]]

    def _waiting(self, url: str) -> dict[str, str]:
        """Return how many messages a queue has: of moto's address only the path is right here."""
        address = self._cloud.info["aws_endpoint_url"] + urlsplit(url).path
        asked = self._client("sqs").get_queue_attributes(QueueUrl=address, AttributeNames=["All"])
        return {key: value for key, value in asked["Attributes"].items() if key.startswith("ApproximateNumber")}

    def _tasks(self, cluster: str) -> list[str]:
        tasks = self._cloud.read("tasks")
        return [task["taskArn"] for task in tasks if task["clusterArn"].endswith(f"/{cluster}")]


def test_two_installations_of_one_account_deploy_by_themselves(cloud):
    one, two = Installation(cloud), Installation(cloud.beside(OTHER))
    first, second = Project(one, REPOSITORY), Project(two, REPOSITORY)
    mine, others = Belongings(one.cloud), Belongings(two.cloud)
    untouched = others.contents()
    sha = first.push({ROOT: thing("first")})
    first.deployed(sha, ROOT)
    kept = mine.at_rest()
    assert others.contents() == untouched, "while one works, the other does not even look"

    with two.webhooks_lost():
        sha = second.push({ROOT: thing("second")})
        lost = two.sent("push", REPOSITORY, after=sha)
    heard = one.sent("push", REPOSITORY)
    assert two.deliver(lost, guid=heard.guid)[0] == HTTPStatus.ACCEPTED, "a delivery of the first is none of the second"
    second.deployed(sha, ROOT)
    assert others.at_rest() != untouched
    assert mine.contents() == kept
    assert (first.value(ROOT), second.value(ROOT)) == ("first", "second")
    assert two.deliver(heard)[0] == HTTPStatus.ACCEPTED
    assert denied(cloud) == set()


def test_no_webhook_of_one_is_one_of_the_other(cloud):
    body = b'{"zen": "Keep it apart."}'
    one, two = Installation(cloud), Installation(cloud.beside(OTHER))
    signed = "sha256=" + hmac.new(one.cloud.info["webhook_secret"].encode(), body, hashlib.sha256).hexdigest()
    assert one.post(body, event="ping", X_Hub_Signature_256=signed)[0] < HTTPStatus.BAD_REQUEST
    assert two.post(body, event="ping", X_Hub_Signature_256=signed)[0] == HTTPStatus.UNAUTHORIZED


def test_roles_name_what_is_of_their_own_installation_alone(cloud):
    granted = cloud.read("permissions")["granted"]
    for each in (cloud, cloud.beside(OTHER)):
        own = re.compile(rf"[:/]{each.info['prefix']}(?![a-z0-9])", re.IGNORECASE)
        roles = f"{each.info['stack']}-"
        mine = [item for item in granted if item["role"].startswith(roles) and "EngineRole" not in item["role"]]
        strange = {(item["action"], item["resource"]) for item in mine if not own.search(item["resource"])}
        assert {item for item in strange if not _of_everybody(*item)} == set()
        assert len(mine) > len(strange), "there is something of its own"


def _of_everybody(action: str, resource: str) -> bool:
    """Tell whether AWS knows nothing narrower, or it is what a deploy of CDK shares in an account."""
    if resource == "*":
        return action.startswith(("ecr:GetAuthorizationToken", "ecs:ListTasks", "logs:", "xray:"))
    return "cdk-hnb659fds" in resource or "rule/StepFunctionsGetEvents" in resource

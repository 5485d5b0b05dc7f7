"""What check runs link to on one machine: pages of the local cloud, where AWS has its console."""

from __future__ import annotations

import json
import uuid
from http import HTTPStatus

import pytest
from moto import mock_aws

from tests.contract.stores import TABLE
from tests.local.deadlines import until
from tidegate.aws.boto import client
from tidegate.deploys.adapters.jobs import DynamoJobLogs
from tidegate.deploys.rules.job import log_key
from tidegate.ports import LogChunk
from tidegate_local.pages import execution_page, links, log_page
from tidegate_local.stack.template import Addresses, adapt

URL = "http://127.0.0.1:4000"


class Operator:
    """Gives clients as the local cloud's own ``Clients`` do."""

    def __init__(self, make):
        self.operator = make


@pytest.fixture
def aws(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        client("s3").create_bucket(Bucket="artifacts")
        client("dynamodb").create_table(TableName="table", **TABLE)
        yield Operator(client)


def environments(variables):
    function = {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": variables}}}
    template = {"Resources": {"Function": function}}
    adapted = adapt(template, Addresses(URL, links(URL)), "123456789012", "us-east-1", {})
    return adapted.template["Resources"]["Function"]["Properties"]["Environment"]["Variables"]


def test_links_lead_to_pages_of_the_local_cloud_where_a_function_makes_links():
    console = {"Fn::Join": ["", ["https://console.aws.amazon.com/", {"Ref": "Bucket"}]]}
    assert environments({"TIDEGATE_EXECUTION_URL": console, "OTHER": "x"}) == {
        "TIDEGATE_EXECUTION_URL": f"{URL}/_tidegate/executions/{{deployment}}",
        "OTHER": "x",
    }
    assert environments({"OTHER": "x"}) == {"OTHER": "x"}


def test_a_running_jobs_log_is_shown_as_far_as_it_has_come_and_then_completely(aws):
    def shown():
        return log_page(aws, "table", "artifacts", "job-1")

    assert shown().status is HTTPStatus.NOT_FOUND
    logs = DynamoJobLogs(client("dynamodb"), "table")
    logs.append("job-1", LogChunk(0, ("first", "<b>second</b>")))
    assert shown().content == "first\n<b>second</b>\n"
    client("s3").put_object(Bucket="artifacts", Key=log_key("job-1"), Body=b"all of it\n")
    assert shown().content == "all of it\n"
    assert dict(shown().headers)["Content-Type"].startswith("text/plain")
    assert dict(shown().headers)["X-Content-Type-Options"] == "nosniff"


class History:
    """Step Functions with one execution: the events that it is given."""

    def __init__(self, events, comment=""):
        self._events, self._comment = events, comment

    def describe_execution(self, **_):
        return {"status": "FAILED"}

    def describe_state_machine(self, **_):
        return {"definition": json.dumps({"States": {"Plan": {"Comment": self._comment}}})}

    def get_paginator(self, _):
        return self

    def paginate(self, **_):
        for event in self._events:
            yield {"events": [event]}


def test_what_an_execution_says_is_no_markup():
    from datetime import UTC, datetime

    at = datetime(2026, 3, 2, 9, 30, 5, 120_000, tzinfo=UTC)
    history = History(
        [
            {"type": "TaskStateEntered", "timestamp": at, "stateEnteredEventDetails": {"name": "Plan"}},
            {"type": "TaskScheduled", "timestamp": at, "taskScheduledEventDetails": {"parameters": "hidden"}},
            {"type": "TaskFailed", "timestamp": at, "taskFailedEventDetails": {"error": "<i>", "cause": "<script>"}},
        ],
        comment="Plans <nothing>",
    )
    page = execution_page(Operator(lambda _: history), "arn:machine", "a&b")
    assert "<td>09:30:05.120</td><td>Plan</td><td>Plans &lt;nothing&gt;</td>" in page.content
    assert "<td>&lt;i&gt;</td><td><pre>&lt;script&gt;</pre></td>" in page.content
    assert "<title>a&amp;b</title>" in page.content
    assert "hidden" not in page.content


@pytest.mark.nightly
@pytest.mark.cloud
def test_the_history_of_a_real_execution_is_listed(cloud):
    machine, name = cloud.state_machines["Chain"], f"t-{uuid.uuid4()}"
    states = cloud.client("stepfunctions")
    assert execution_page(Operator(cloud.client), machine, name).status is HTTPStatus.NOT_FOUND
    arn = states.start_execution(stateMachineArn=machine, name=name, input='{"n": 1}')["executionArn"]
    until(lambda: states.describe_execution(executionArn=arn)["status"] != "RUNNING", what="its end")
    page = execution_page(Operator(cloud.client), machine, name)
    assert page.content.index("<td>First</td>") < page.content.index("<td>Second</td>")
    assert '<p class="status">succeeded</p>' in page.content

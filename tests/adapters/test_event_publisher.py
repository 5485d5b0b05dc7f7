"""What the adapter of announcements sends to queues and to the bus."""

from __future__ import annotations

import json

import pytest

from tests.adapters.aws import APPLIED, REGION, received
from tests.adapters.refusals import Refuses, Throttles
from tests.builders import NOW, any_layer
from tidegate.aws.artifacts import S3Artifacts
from tidegate.aws.boto import client
from tidegate.aws.stepfunctions import StepFunctionsWorkflows
from tidegate.deploys.adapters.audit import SnsAuditLog
from tidegate.deploys.adapters.event_publisher import AwsEventPublisher, Channels
from tidegate.deploys.rules.audit import audit_message
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.messages.queues import FollowApply, OpenGates, PublishDeployment, PublishRevision
from tidegate.rules.errors import AuditUnavailable, CloudUnavailable
from tidegate.rules.timestamp import timestamp_text


@pytest.fixture
def fifo(cloud):
    return client("sqs").create_queue(QueueName="check-runs.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]


@pytest.fixture
def bus(cloud):
    """The bus, with a queue that keeps what is put on it."""
    events, sqs = client("events"), client("sqs")
    queue = sqs.create_queue(QueueName="kept")["QueueUrl"]
    events.create_event_bus(Name="tidegate")
    events.put_rule(Name="all", EventBusName="tidegate", EventPattern=json.dumps({"source": ["tidegate"]}))
    arn = f"arn:aws:sqs:{REGION}:123456789012:kept"
    events.put_targets(Rule="all", EventBusName="tidegate", Targets=[{"Id": "kept", "Arn": arn}])
    return queue


def test_a_change_asks_for_its_check_run_in_its_own_group(fifo, bus):
    event_publisher = AwsEventPublisher(client("sqs"), client("events"), Channels(fifo, "tidegate"))
    event_publisher.changed(APPLIED)
    event_publisher.changed(APPLIED)
    event_publisher.refresh(APPLIED.id)
    first, second = received(fifo)
    assert first["Body"] == PublishDeployment(deployment=APPLIED.id).body()
    assert second["Body"] == PublishDeployment(deployment=APPLIED.id, again=True).body()
    assert first["Attributes"]["MessageGroupId"] == APPLIED.id


def test_a_place_that_changed_a_re_run_and_an_answer_say_so_to_the_check_runs(fifo, bus):
    event_publisher = AwsEventPublisher(client("sqs"), client("events"), Channels(fifo, "tidegate"))
    event_publisher.position_changed("d")
    event_publisher.repeated("d", "again")
    event_publisher.answered("d", "You may not.")
    assert [message["Body"] for message in received(fifo)] == [
        PublishDeployment(deployment="d", again=True, if_new=True).body(),
        PublishDeployment(deployment="d", again=True, repeated_by="again").body(),
        PublishDeployment(deployment="d", again=True, answer="You may not.").body(),
    ]


def test_progress_of_a_workflow_within_ten_seconds_is_one_message_after_them(fifo, bus):
    now = [1000.1]
    event_publisher = AwsEventPublisher(client("sqs"), client("events"), Channels(fifo, "tidegate"), now=lambda: now[0])
    event_publisher.progress_changed("d")
    now[0] = 1009.9
    event_publisher.progress_changed("d")
    event_publisher.progress_changed("other")
    now[0] = 1010.0
    event_publisher.progress_changed("d")
    asked = [json.loads(message["Body"]) for message in received(fifo) + received(fifo)]
    assert sorted((each["deployment"], each["not_before"]) for each in asked) == [
        ("d", 1010),
        ("d", 1020),
        ("other", 1010),
    ]
    assert all(each["again"] and each["if_new"] for each in asked)


def test_changes_of_a_line_within_a_second_are_one_message_and_queues_do_not_share_it(fifo, bus):
    now = [1000.1]
    event_publisher = AwsEventPublisher(
        client("sqs"), client("events"), Channels("none", "tidegate", positions_queue=fifo), now=lambda: now[0]
    )
    event_publisher.queue_changed("acme/infra||network")
    now[0] = 1000.9
    event_publisher.queue_changed("acme/infra||network")
    event_publisher.queue_changed("acme/infra||dns")
    now[0] = 1001.0
    event_publisher.queue_changed("acme/infra||network")
    queues = [json.loads(message["Body"])["queue"] for message in received(fifo) + received(fifo)]
    assert sorted(queues) == ["acme/infra||dns", "acme/infra||network", "acme/infra||network"]


def test_each_move_of_a_change_is_a_message_in_the_changes_own_group(fifo, bus):
    channels = Channels("none", "tidegate", change_queue=fifo)
    event_publisher = AwsEventPublisher(client("sqs"), client("events"), channels)
    for _ in range(2):
        event_publisher.change_moved("change-1")
    messages = received(fifo) + received(fifo)
    assert [message["Body"] for message in messages] == [OpenGates(change_set="change-1").body()] * 2
    assert len({message["Attributes"]["MessageGroupId"] for message in messages}) == 1


def test_a_line_is_looked_at_later_when_it_was_asked_for(cloud):
    sqs = client("sqs")
    later = sqs.create_queue(QueueName="later")["QueueUrl"]
    event_publisher = AwsEventPublisher(sqs, client("events"), Channels("none", "tidegate", later_queue=later))
    event_publisher.queue_changed_later("acme/infra||network", 900)
    assert received(later) == []
    attributes = sqs.get_queue_attributes(QueueUrl=later, AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessagesDelayed"] == "1"


def test_a_change_is_an_event_with_what_others_need(fifo, bus):
    AwsEventPublisher(client("sqs"), client("events"), Channels(fifo, "tidegate")).changed(APPLIED)
    (message,) = received(bus)
    event = json.loads(message["Body"])
    assert (event["source"], event["detail-type"]) == ("tidegate", "Deployment changed")
    assert event["detail"] == {
        "version": 1,
        "deployment": APPLIED.id,
        "repository": "acme/infra",
        "root": "network",
        "revision": APPLIED.revision.sha,
        "branch": "main",
        "trigger": "merge",
        "requested_by": "maintainer",
        "state": "applied",
        "reason": "",
        "changed_at": timestamp_text(APPLIED.changed_at),
        "apply_job": APPLIED.apply.job,
        "changes": {
            "add": 2,
            "change": 0,
            "destroy": 1,
            "replace": 0,
            "outputs": 0,
            "moved": 0,
            "actions": 0,
            "deferred": 0,
        },
    }


@pytest.mark.parametrize(
    ("events", "code"),
    [
        (Throttles(100), "ThrottlingException"),
        (Refuses("InternalException"), "InternalException"),
        (Refuses("no connection"), "EndpointConnectionError"),
    ],
)
def test_a_bus_that_takes_no_event_is_logged_and_holds_up_no_check_run(fifo, caplog, events, code):
    AwsEventPublisher(client("sqs"), events, Channels(fifo, "tidegate")).changed(APPLIED)
    (message,) = received(fifo)
    assert json.loads(message["Body"])["deployment"] == APPLIED.id
    (record,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert (record.deployment, record.state) == (APPLIED.id, "applied")
    assert code in record.refusal


def test_an_event_is_offered_to_a_throttling_bus_again(fifo, caplog):
    AwsEventPublisher(client("sqs"), Throttles(2), Channels(fifo, "tidegate")).changed(APPLIED)
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


def test_a_change_whose_check_run_cannot_be_asked_for_is_not_put_on_the_bus(bus):
    with pytest.raises(CloudUnavailable, match="SQS"):
        AwsEventPublisher(Refuses("RequestThrottled"), client("events"), Channels("queue", "tidegate")).changed(APPLIED)
    assert received(bus) == []


@pytest.mark.parametrize("code", ["ThrottlingException", "no connection"])
def test_what_aws_refuses_for_now_is_called_so(code):
    with pytest.raises(CloudUnavailable, match="SQS"):
        AwsEventPublisher(Refuses(code), Refuses(code), Channels("queue", "bus")).refresh("d")
    with pytest.raises(CloudUnavailable, match="Step Functions"):
        StepFunctionsWorkflows(Refuses(code), "machine").settle("token", {})
    with pytest.raises(CloudUnavailable, match="S3"):
        S3Artifacts(Refuses(code), "bucket").get("key")
    with pytest.raises(AuditUnavailable):
        SnsAuditLog(Refuses(code), "topic").publish(audit_message(APPLIED, "SUCCESS", NOW))


def test_a_layer_that_ended_asks_for_its_check_run_and_once_for_that_of_its_pull_request(fifo, bus):
    now = [1000.1]
    event_publisher = AwsEventPublisher(client("sqs"), client("events"), Channels(fifo, "tidegate"), now=lambda: now[0])
    for name, state in (("app", LayerState.PLANNING), ("db", LayerState.PLANNED), ("app", LayerState.FAILED)):
        event_publisher.layer_changed(any_layer(name, state=state))
    now[0] = 1002.0
    event_publisher.layer_changed(any_layer("db", state=LayerState.PLANNED))
    messages = received(fifo) + received(fifo)
    found = [json.loads(message["Body"]) for message in messages]
    progress = [each["not_before"] for each in found if "pull_request" in each]
    assert sorted(progress) == [1002, 1004]
    layers = [each["layer"] for each in found if "layer" in each]
    assert sorted(layers) == sorted([any_layer("db").id, any_layer("app").id, any_layer("db").id])
    assert len({m["Attributes"]["MessageGroupId"] for m in messages}) == 3


def test_what_a_pull_request_shows_is_asked_for_in_the_group_of_its_progress(fifo, bus):
    event_publisher = AwsEventPublisher(client("sqs"), client("events"), Channels(fifo, "tidegate"))
    event_publisher.layer_changed(any_layer(state=LayerState.PLANNING))
    event_publisher.pull_request_ended("acme/infra#5", "a+b", "TidegateFailed", "cause")
    messages = received(fifo) + received(fifo)
    asked = PublishRevision(pull_request="acme/infra#5", revision="a+b", error="TidegateFailed", cause="cause")
    assert messages[-1]["Body"] == asked.body()
    assert len({message["Attributes"]["MessageGroupId"] for message in messages}) == 1


def test_what_follows_an_apply_is_asked_for_in_the_group_of_its_pull_request(fifo, bus):
    event_publisher = AwsEventPublisher(client("sqs"), client("events"), Channels(fifo, "tidegate"))
    event_publisher.pull_request_applied("acme/infra#5")
    event_publisher.pull_request_ended("acme/infra#5", "a+b")
    messages = received(fifo) + received(fifo)
    assert messages[0]["Body"] == FollowApply(pull_request="acme/infra#5").body()
    assert len({message["Attributes"]["MessageGroupId"] for message in messages}) == 1


def test_what_became_of_a_merge_is_asked_for_once_in_ten_seconds(fifo, bus):
    now = [1000.1]
    event_publisher = AwsEventPublisher(client("sqs"), client("events"), Channels(fifo, "tidegate"), now=lambda: now[0])
    for at in (1000.1, 1009.9, 1010.0):
        now[0] = at
        event_publisher.pull_request_deployed("acme/infra#5")
    messages = received(fifo) + received(fifo)
    found = [json.loads(message["Body"]) for message in messages]
    assert sorted((each["kind"], each["not_before"]) for each in found) == [
        ("publish_deploys", 1010),
        ("publish_deploys", 1020),
    ]
    assert len({message["Attributes"]["MessageGroupId"] for message in messages}) == 1

"""The audit, the clock, and messages that come again later: small adapters, against moto in this process."""

from __future__ import annotations

import json
from datetime import UTC

from tests.adapters.aws import APPLIED, REGION, received
from tests.builders import NOW, deployment_in
from tidegate.aws.boto import client
from tidegate.aws.clock import SystemClock
from tidegate.aws.visibility import QueueVisibility
from tidegate.deploys.adapters.audit import SnsAuditLog
from tidegate.deploys.rules.audit import audit_message
from tidegate.deploys.rules.state import State


def test_an_audit_message_can_be_filtered_by_its_attributes_and_comes_once(cloud):
    sns, sqs = client("sns"), client("sqs")
    topic = sns.create_topic(Name="audit.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    queue = sqs.create_queue(QueueName="audit.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    arn = f"arn:aws:sqs:{REGION}:123456789012:audit.fifo"
    policy = {"FilterPolicy": json.dumps({"state": ["SUCCESS"], "repository": ["acme/infra"]})}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=policy)
    log = SnsAuditLog(sns, topic)
    log.publish(audit_message(deployment_in(State.APPLYING), "RUNNING", NOW))
    for _ in "twice":
        log.publish(audit_message(APPLIED, "SUCCESS", NOW))
    (message,) = received(queue)
    notification = json.loads(message["Body"])
    assert json.loads(notification["Message"])["event_id"] == f"{APPLIED.apply.job}:SUCCESS"
    assert notification["MessageAttributes"]["root"]["Value"] == "network"


def test_a_message_is_hidden_for_as_long_as_asked(cloud):
    queue = client("sqs").create_queue(QueueName="presses")["QueueUrl"]
    client("sqs").send_message(QueueUrl=queue, MessageBody="press")
    (message,) = received(queue)
    QueueVisibility(client("sqs")).postpone(queue, message["ReceiptHandle"], 0)
    assert len(received(queue)) == 1


def test_the_clock_tells_utc():
    assert SystemClock().now().tzinfo is UTC

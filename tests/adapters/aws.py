"""What tests of the AWS adapters share."""

from __future__ import annotations

from tests.builders import deployment_in
from tidegate.aws.boto import client
from tidegate.deploys.rules.state import State

REGION = "eu-central-1"
APPLIED = deployment_in(State.APPLIED, version=4)


def received(queue):
    answer = client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"])
    return answer.get("Messages", [])

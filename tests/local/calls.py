"""Calls to the local cloud as its users make them, and what they find."""

from __future__ import annotations

import json
import uuid

from tests.local.deadlines import until


def invoke(cloud, **event):
    answer = cloud.client("lambda").invoke(FunctionName=cloud.functions["Worker"], Payload=json.dumps(event))
    return json.loads(answer["Payload"].read()), answer.get("FunctionError")


def kept(cloud, pk):
    key = {":pk": {"S": f"kept#{pk}"}}
    found = cloud.client("dynamodb").query(
        TableName=cloud.table, KeyConditionExpression="pk = :pk", ExpressionAttributeValues=key
    )
    return {item["sk"]["S"]: json.loads(item["value"]["S"]) for item in found["Items"]}


def start(cloud, machine, name=None, **data):
    arn = cloud.state_machines[machine]
    request = {"stateMachineArn": arn, "name": name or f"t-{uuid.uuid4()}", "input": json.dumps(data)}
    return cloud.client("stepfunctions").start_execution(**request)["executionArn"]


def ended(cloud, execution):
    states = cloud.client("stepfunctions")

    def look():
        found = states.describe_execution(executionArn=execution)
        return found if found["status"] != "RUNNING" else None

    return until(look)


def token_of(cloud, execution):
    return until(lambda: kept(cloud, "token").get(execution.rpartition(":")[2]))

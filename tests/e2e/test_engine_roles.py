"""What an engine may do to the installation that runs it, with the credentials of its role: nothing."""

from __future__ import annotations

import contextlib
import json

import boto3
import pytest
from botocore.exceptions import ClientError

ENGINES = ("RunnersPlanEngineRole", "RunnersApplyEngineRole", "RunnersSpeculateEngineRole")
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
#: What of a deployed resource of this type an engine could use: service, call, and its parameters from the physical id.
#: The other types are no resources of their own that AWS lets anybody call, or IAM knows them by their tags alone.
USES = {
    "AWS::DynamoDB::Table": [
        ("dynamodb", "scan", lambda name: {"TableName": name}),
        ("dynamodb", "query", lambda name: {"TableName": name, "IndexName": "open", **OPEN}),
        ("dynamodb", "delete_item", lambda name: {"TableName": name, "Key": {"pk": {"S": "x"}, "sk": {"S": "x"}}}),
    ],
    "AWS::ECS::Cluster": [
        ("ecs", "describe_tasks", lambda name: {"cluster": name, "tasks": ["0" * 32]}),
        ("ecs", "stop_task", lambda name: {"cluster": name, "task": "0" * 32}),
    ],
    "AWS::Lambda::Function": [
        ("lambda", "get_function_configuration", lambda name: {"FunctionName": name}),
        ("lambda", "invoke", lambda name: {"FunctionName": name}),
    ],
    "AWS::Logs::LogGroup": [
        ("logs", "filter_log_events", lambda name: {"logGroupName": name}),
        ("logs", "get_log_events", lambda name: {"logGroupName": name, "logStreamName": "any"}),
    ],
    "AWS::S3::Bucket": [
        ("s3", "list_objects_v2", lambda name: {"Bucket": name}),
        ("s3", "get_object", lambda name: {"Bucket": name, "Key": "plans/any"}),
        ("s3", "put_object", lambda name: {"Bucket": name, "Key": "plans/any", "Body": b""}),
    ],
    "AWS::SNS::Topic": [("sns", "publish", lambda arn: {"TopicArn": arn, "Message": "x", "MessageGroupId": "x"})],
    "AWS::SQS::Queue": [
        ("sqs", "receive_message", lambda url: {"QueueUrl": url}),
        ("sqs", "purge_queue", lambda url: {"QueueUrl": url}),
        ("sqs", "get_queue_attributes", lambda url: {"QueueUrl": url}),
    ],
    "AWS::StepFunctions::StateMachine": [
        ("stepfunctions", "list_executions", lambda arn: {"stateMachineArn": arn}),
        ("stepfunctions", "start_execution", lambda arn: {"stateMachineArn": arn}),
        ("stepfunctions", "get_execution_history", lambda arn: {"executionArn": execution(arn)}),
        ("stepfunctions", "describe_execution", lambda arn: {"executionArn": execution(arn)}),
    ],
}
OPEN = {"KeyConditionExpression": "#o = :o", "ExpressionAttributeNames": {"#o": "open"}}
OPEN["ExpressionAttributeValues"] = {":o": {"S": "delivery"}}
EVENT = {"Source": "tidegate", "DetailType": "x", "Detail": "{}"}


def execution(machine_arn):
    return machine_arn.replace(":stateMachine:", ":execution:") + ":any"


@pytest.fixture(params=ENGINES)
def engine(request, tidegate):
    """Return a maker of clients with the credentials of an engine whose role somebody allowed everything."""
    cloud = tidegate.cloud
    iam = cloud.client("iam")
    name = next(
        resource["PhysicalResourceId"]
        for resource in resources(cloud)
        if resource["LogicalResourceId"].startswith(request.param)
    )
    arn = iam.get_role(RoleName=name)["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="everything", PolicyDocument=json.dumps(EVERYTHING))
    keys = cloud.client("sts").assume_role(RoleArn=arn, RoleSessionName="engine")["Credentials"]

    def client(service):
        return boto3.client(
            service,
            endpoint_url=cloud.info["aws_endpoint_url"],
            region_name=cloud.info["region"],
            aws_access_key_id=keys["AccessKeyId"],
            aws_secret_access_key=keys["SecretAccessKey"],
            aws_session_token=keys["SessionToken"],
        )

    with contextlib.ExitStack() as after:
        after.callback(iam.delete_role_policy, RoleName=name, PolicyName="everything")
        yield client


def resources(cloud):
    """Return what moto deployed; what the local cloud plays itself has no physical id."""
    every = cloud.client("cloudformation").describe_stack_resources(StackName="Tidegate")["StackResources"]
    return [resource for resource in every if resource.get("PhysicalResourceId")]


def refused(client, method, parameters):
    try:
        getattr(client, method)(**parameters)
    except ClientError as error:
        return error.response["Error"]["Code"].startswith("AccessDenied")
    return False


def test_an_engine_that_is_allowed_everything_uses_nothing_of_the_installation(tidegate, engine):
    cloud = tidegate.cloud
    secrets = [secret["Name"] for secret in cloud.client("secretsmanager").list_secrets()["SecretList"]]
    tried = [("secretsmanager", "get_secret_value", {"SecretId": name}) for name in secrets]
    tried.append(("events", "put_events", {"Entries": [{"EventBusName": cloud.info["event_bus"], **EVENT}]}))
    deployed = resources(cloud)
    for resource in deployed:
        for service, method, parameters in USES.get(resource["ResourceType"], ()):
            tried.append((service, method, parameters(resource["PhysicalResourceId"])))
    clients = {service: engine(service) for service in {service for service, _, _ in tried}}
    assert secrets
    assert {resource["ResourceType"] for resource in deployed} >= USES.keys()
    assert not [use for use in tried if not refused(clients[use[0]], use[1], use[2])]


def test_an_engine_keeps_what_it_is_allowed_outside_of_the_installation(tidegate, engine):
    queue = tidegate.cloud.client("sqs").create_queue(QueueName="orders")["QueueUrl"]
    assert not refused(engine("sqs"), "receive_message", {"QueueUrl": queue})

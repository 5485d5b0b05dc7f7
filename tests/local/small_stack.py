"""A small cloud assembly: one of everything that the local cloud plays, with a function that does as it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HANDLER = """
import json, os, time
import boto3

db = boto3.client("dynamodb")


def keep(pk, sk, value):
    item = {"pk": {"S": pk}, "sk": {"S": sk}, "value": {"S": json.dumps(value)}}
    db.put_item(TableName=os.environ["TABLE"], Item=item)


def lambda_handler(event, context):
    match event.get("do"):
        case "fail":
            raise ValueError("told to fail")
        case "exit":
            os._exit(3)
        case "sleep":
            time.sleep(event["seconds"])
        case "keep":
            keep(event["pk"], context.aws_request_id, event)
        case "wait":
            keep("kept#token", event["name"], event["token"])
        case "say":
            return "x" * event["size"]
        case "scan":
            return db.scan(TableName=os.environ["TABLE"])["Count"]
    if "Records" in event:
        return batch(event["Records"])
    if "detail-type" in event:
        keep("kept#event", event["id"], event)
    if event.get("version") == "2.0":
        keep("kept#request", context.aws_request_id, event)
        if "longest" in event["rawQueryString"]:
            return {"statusCode": 200, "body": "x" * 6_291_556}
        return {"statusCode": 202, "headers": {"x-answer": "yes"}, "body": "taken"}
    print("handled", json.dumps(event)[:200])
    return {"n": event.get("n", 0) + 1}


def batch(records):
    failures = []
    for number, record in enumerate(records):
        keep("kept#message", record["messageId"] + "#" + record["attributes"]["ApproximateReceiveCount"], record)
        if "fail" in record["body"]:
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}
"""

TASK = (
    "import os, signal, sys, time\n"
    "print('task starts with', os.environ.get('SAID', 'nothing'), flush=True)\n"
    "signal.signal(signal.SIGTERM, lambda *_: (print('interrupted', flush=True), sys.exit(7)))\n"
    "time.sleep(float(os.environ.get('SECONDS', '0')))\n"
)


def _get(name: str, attribute: str = "Arn") -> dict[str, Any]:
    return {"Fn::GetAtt": [name, attribute]}


def _role(name: str, *statements: dict[str, Any]) -> dict[str, Any]:
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **item} for item in statements]}
    trust = {"Version": "2012-10-17", "Statement": []}
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": trust,
            "Policies": [{"PolicyName": name, "PolicyDocument": document}],
        },
    }


def _machine(definition: dict[str, Any], **substitutions: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {
            "RoleArn": _get("MachineRole"),
            "DefinitionString": json.dumps({"QueryLanguage": "JSONata", **definition}),
            "DefinitionSubstitutions": substitutions,
        },
    }


def _rule(pattern: dict[str, Any]) -> dict[str, Any]:
    target = {"Arn": _get("Worker"), "Id": "worker"}
    return {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": pattern, "Targets": [target]}}


def _mapping(queue: str) -> dict[str, Any]:
    properties = {
        "EventSourceArn": _get(queue),
        "FunctionName": {"Ref": "Worker"},
        "BatchSize": 5,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
    }
    return {"Type": "AWS::Lambda::EventSourceMapping", "Properties": properties}


def _permission(principal: str) -> dict[str, Any]:
    properties = {"FunctionName": _get("Worker"), "Principal": principal, "Action": "lambda:InvokeFunction"}
    return {"Type": "AWS::Lambda::Permission", "Properties": properties}


def _invoke(**payload: Any) -> dict[str, Any]:
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": {"FunctionName": "${Worker}", "Payload": payload},
    }


_CHAIN = {
    "StartAt": "First",
    "States": {
        "First": {**_invoke(n="{% $states.input.n %}"), "Output": "{% $states.result.Payload %}", "Next": "Second"},
        "Second": {**_invoke(n="{% $states.input.n %}"), "Output": "{% $states.result.Payload %}", "End": True},
    },
}
_WAIT = {
    "StartAt": "Wait",
    "States": {
        "Wait": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
            "Arguments": {
                "FunctionName": "${Worker}",
                "Payload": {
                    "do": "wait",
                    "name": "{% $states.context.Execution.Name %}",
                    "token": "{% $states.context.Task.Token %}",
                },
            },
            "TimeoutSeconds": 60,
            "HeartbeatSeconds": 30,
            "Catch": [
                {
                    "ErrorEquals": ["States.ALL"],
                    "Output": {"error": "{% $states.errorOutput.Error %}", "cause": "{% $states.errorOutput.Cause %}"},
                    "Next": "Refused",
                }
            ],
            "End": True,
        },
        "Refused": {"Type": "Succeed"},
    },
}
_PARENT = {
    "StartAt": "Child",
    "States": {
        "Child": {
            "Type": "Task",
            "Resource": "arn:aws:states:::states:startExecution.sync:2",
            "Arguments": {"StateMachineArn": "${Child}", "Name": "{% $states.input.name %}", "Input": {"n": 1}},
            "Output": {
                "name": "{% $states.result.Name %}",
                "status": "{% $states.result.Status %}",
                "output": "{% $states.result.Output %}",
            },
            "End": True,
        }
    },
}
_FAILS = {"StartAt": "Fail", "States": {"Fail": {"Type": "Fail", "Error": "Broken", "Cause": 'say "no"'}}}
_TASK = {
    "StartAt": "Run",
    "States": {
        "Run": {
            "Type": "Task",
            "Resource": "arn:aws:states:::ecs:runTask.waitForTaskToken",
            "Arguments": {
                "LaunchType": "FARGATE",
                "Cluster": "${Cluster}",
                "TaskDefinition": "${TaskDefinition}",
                "Group": "{% $states.context.Execution.Name %}",
                "NetworkConfiguration": {"AwsvpcConfiguration": {"Subnets": ["subnet-1"]}},
                "Overrides": {
                    "ContainerOverrides": [
                        {
                            "Name": "runner",
                            "Environment": [{"Name": "TOKEN", "Value": "{% $states.context.Task.Token %}"}],
                        }
                    ]
                },
            },
            "TimeoutSeconds": 30,
            "End": True,
        }
    },
}


def resources() -> dict[str, Any]:
    """Return the template's resources."""
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    attributes = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]
    leading = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["kept#*"]}}
    dead = {"deadLetterTargetArn": _get("Dead"), "maxReceiveCount": 2}
    container = {
        "Name": "runner",
        "Image": "runner",
        "EntryPoint": ["python", "-c", TASK],
        "Environment": [{"Name": "SAID", "Value": "hello"}],
        "StopTimeout": 5,
        "LogConfiguration": {
            "LogDriver": "awslogs",
            "Options": {
                "awslogs-group": {"Ref": "TaskLog"},
                "awslogs-stream-prefix": "run",
                "awslogs-region": "us-east-1",
            },
        },
    }
    return {
        "Table": {
            "Type": "AWS::DynamoDB::Table",
            "Properties": {"KeySchema": keys, "AttributeDefinitions": attributes, "BillingMode": "PAY_PER_REQUEST"},
        },
        "Audit": {
            "Type": "AWS::SNS::Topic",
            "Properties": {"TopicName": "small-audit.fifo", "FifoTopic": True},
        },
        "WorkerLog": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "worker"}},
        "TaskLog": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "task"}},
        "Dead": {"Type": "AWS::SQS::Queue", "Properties": {}},
        "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 1, "RedrivePolicy": dead}},
        "Ordered": {
            "Type": "AWS::SQS::Queue",
            "Properties": {"FifoQueue": True, "ContentBasedDeduplication": True, "VisibilityTimeout": 30},
        },
        "WorkerRole": _role(
            "worker",
            {"Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": _get("WorkerLog")},
            {"Action": "dynamodb:PutItem", "Resource": _get("Table"), "Condition": leading},
            {
                "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
                "Resource": [_get("Queue"), _get("Ordered")],
            },
        ),
        "MachineRole": _role(
            "machine",
            {"Action": "lambda:InvokeFunction", "Resource": {"Fn::Sub": "${Worker.Arn}:*"}},
            {"Action": ["states:StartExecution", "states:DescribeExecution", "states:StopExecution"], "Resource": "*"},
            {"Action": "ecs:RunTask", "Resource": {"Ref": "TaskDefinition"}},
            {"Action": "ecs:DescribeTasks", "Resource": "*"},
            {
                "Action": "iam:PassRole",
                "Resource": [_get("TaskRole"), _get("ExecutionRole")],
                "Condition": {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            },
        ),
        "TaskRole": _role("task", {"Action": "s3:GetObject", "Resource": "arn:aws:s3:::never-used/*"}),
        "ExecutionRole": _role(
            "execution", {"Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": _get("TaskLog")}
        ),
        "Worker": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Code": {"S3Bucket": "assets", "S3Key": "worker.zip"},
                "Handler": "handler.lambda_handler",
                "Runtime": "python3.12",
                "Role": _get("WorkerRole"),
                "Timeout": 8,
                "MemorySize": 256,
                "LoggingConfig": {"LogGroup": {"Ref": "WorkerLog"}},
                "Environment": {"Variables": {"TABLE": {"Ref": "Table"}}},
            },
        },
        "WorkerVersion": {"Type": "AWS::Lambda::Version", "Properties": {"FunctionName": {"Ref": "Worker"}}},
        "Cluster": {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": "small"}},
        "TaskDefinition": {
            "Type": "AWS::ECS::TaskDefinition",
            "Properties": {
                "Family": "runner",
                "NetworkMode": "awsvpc",
                "RequiresCompatibilities": ["FARGATE"],
                "Cpu": "256",
                "Memory": "512",
                "TaskRoleArn": _get("TaskRole"),
                "ExecutionRoleArn": _get("ExecutionRole"),
                "ContainerDefinitions": [container],
            },
        },
        "Chain": _machine(_CHAIN, Worker={"Ref": "WorkerVersion"}),
        "Waiting": _machine(_WAIT, Worker={"Ref": "WorkerVersion"}),
        "Unpinned": _machine(_CHAIN, Worker=_get("Worker")),
        "Parent": _machine(_PARENT, Child={"Ref": "Chain"}),
        "PatientParent": _machine(_PARENT, Child={"Ref": "Waiting"}),
        "Failing": _machine(_FAILS),
        "RunsTask": _machine(_TASK, Cluster={"Ref": "Cluster"}, TaskDefinition={"Ref": "TaskDefinition"}),
        "Stopped": _rule(
            {"source": ["aws.ecs"], "detail-type": ["ECS Task State Change"], "detail": {"lastStatus": ["STOPPED"]}}
        ),
        "Closed": _rule(
            {
                "source": ["aws.states"],
                "detail-type": ["Step Functions Execution Status Change"],
                "detail": {"status": ["FAILED", "ABORTED", "TIMED_OUT"]},
            }
        ),
        "Sweep": {
            "Type": "AWS::Events::Rule",
            "Properties": {
                "ScheduleExpression": "rate(5 minutes)",
                "Targets": [{"Arn": _get("Worker"), "Id": "worker"}],
            },
        },
        "FromQueue": _mapping("Queue"),
        "FromOrdered": _mapping("Ordered"),
        "Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"ProtocolType": "HTTP"}},
        "Integration": {"Type": "AWS::ApiGatewayV2::Integration", "Properties": {"IntegrationUri": _get("Worker")}},
        "Route": {
            "Type": "AWS::ApiGatewayV2::Route",
            "Properties": {
                "RouteKey": "POST /webhooks/small",
                "Target": {"Fn::Join": ["", ["integrations/", {"Ref": "Integration"}]]},
            },
        },
        "FromApi": _permission("apigateway.amazonaws.com"),
        "FromEvents": _permission("events.amazonaws.com"),
        "Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": {}},
    }


def write(directory: Path) -> Path:
    """Write the assembly and return its directory."""
    code = directory / "worker"
    code.mkdir(parents=True)
    (code / "handler.py").write_text(HANDLER)
    (directory / "Tidegate.template.json").write_text(json.dumps({"Resources": resources()}))
    assets = {"files": {"worker": {"source": {"path": "worker"}}}}
    (directory / "Tidegate.assets.json").write_text(json.dumps(assets))
    return directory

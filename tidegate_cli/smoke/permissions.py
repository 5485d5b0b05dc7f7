"""The calls of a smoke test itself. The CDK deploys with its bootstrap's roles, which the caller must assume."""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "{region}:{account}"
#: Actions by the resource that they are asked for: all begin with the prefix or the stack's name where AWS allows it.
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "*": (
        "cloudformation:ListStacks",
        "cloudwatch:DescribeAlarms",
        "dynamodb:ListTables",
        "ecs:DeregisterTaskDefinition",
        "ecs:ListTaskDefinitionFamilies",
        "ecs:ListTaskDefinitions",
        "ecs:ListTasks",
        "logs:DescribeLogGroups",
        "s3:ListAllMyBuckets",
        "secretsmanager:ListSecrets",
        "sqs:ListQueues",
    ),
    f"arn:aws:cloudformation:{_HERE}:stack/{{stack}}/x": (
        "cloudformation:DeleteStack",
        "cloudformation:DescribeStacks",
        "cloudformation:UpdateTerminationProtection",
    ),
    f"arn:aws:cloudwatch:{_HERE}:alarm:{{prefix}}-x": ("cloudwatch:SetAlarmState",),
    f"arn:aws:dynamodb:{_HERE}:table/{{stack}}-x": (
        "dynamodb:DeleteTable",
        "dynamodb:DescribeTable",
        "dynamodb:UpdateTable",
    ),
    f"arn:aws:ecs:{_HERE}:task/{{prefix}}/x": ("ecs:DescribeTasks", "ecs:StopTask"),
    f"arn:aws:ecs:{_HERE}:task-definition/{{prefix}}-x:1": ("ecs:DeleteTaskDefinitions",),
    f"arn:aws:logs:{_HERE}:log-group:{{stack}}-x:*": ("logs:DeleteLogGroup",),
    "arn:aws:s3:::{prefix}-x": (
        "s3:CreateBucket",
        "s3:DeleteBucket",
        "s3:ListBucketVersions",
        "s3:PutBucketPublicAccessBlock",
    ),
    "arn:aws:s3:::{prefix}-x/x": ("s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetObject", "s3:PutObject"),
    f"arn:aws:secretsmanager:{_HERE}:secret:{{prefix}}/x": (
        "secretsmanager:CreateSecret",
        "secretsmanager:DeleteSecret",
        "secretsmanager:GetSecretValue",
    ),
    f"arn:aws:sns:{_HERE}:{{stack}}-x": ("sns:Subscribe",),
    f"arn:aws:sqs:{_HERE}:{{prefix}}-alarm-probe": ("sqs:CreateQueue", "sqs:DeleteQueue", "sqs:ReceiveMessage"),
    f"arn:aws:states:{_HERE}:stateMachine:{{prefix}}-x": ("states:DescribeStateMachine", "states:ListExecutions"),
    f"arn:aws:states:{_HERE}:execution:{{prefix}}-x:x": ("states:StopExecution",),
}

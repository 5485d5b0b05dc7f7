"""Trust policies: which service may assume a role, limited to this account where the service supports that.

Lambda supports no such condition for a function's role ("Defining Lambda function permissions with an execution role"),
and neither does ECS for execution roles ("Task execution IAM role"). docs/decisions/0226 has the documents of the
others.
"""

from __future__ import annotations

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct


def for_machine(scope: Construct, name: str) -> iam.ServicePrincipal:
    """Return Step Functions, for the state machine of this name: also for items of its distributed Maps."""
    return _service(scope, "states.amazonaws.com", _arn(scope, "states", f"stateMachine:{name}*"))


def for_tasks(scope: Construct) -> iam.ServicePrincipal:
    """Return ECS, for tasks of any cluster: to name one "is not currently supported" (Amazon ECS, Task IAM role)."""
    return _service(scope, "ecs-tasks.amazonaws.com", _arn(scope, "ecs", "*"))


def for_flow_logs(scope: Construct) -> iam.ServicePrincipal:
    """Return VPC, for flow logs, whose ids are not known before they have their role."""
    return _service(scope, "vpc-flow-logs.amazonaws.com", _arn(scope, "ec2", "vpc-flow-log/*"))


def _service(scope: Construct, name: str, source: str) -> iam.ServicePrincipal:
    conditions = {
        "StringEquals": {"aws:SourceAccount": Stack.of(scope).account},
        "ArnLike": {"aws:SourceArn": source},
    }
    return iam.ServicePrincipal(name, conditions=conditions)


def _arn(scope: Construct, service: str, resource: str) -> str:
    return Stack.of(scope).format_arn(service=service, resource=resource, arn_format=ArnFormat.NO_RESOURCE_NAME)

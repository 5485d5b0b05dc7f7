"""Findings of cdk-nag that stand, each with the reason. Everything else fails ``make lint``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aws_cdk import Acknowledgment, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from cdk.capabilities import PLANS, SPECULATIONS, Capability
from cdk.function_specs import SPECS

if TYPE_CHECKING:
    from cdk.stack import TidegateStack

_ANY = "AwsSolutions-IAM5[Resource::*]"
_XRAY = "X-Ray's PutTraceSegments and PutTelemetryRecords know no resource."
_LOG_DELIVERY = "Log deliveries of vended logs and X-Ray's actions know no resource."
_REGISTRY = "ecr:GetAuthorizationToken knows no resource."
_SPECULATIVE = (*(f"plans/{jobs}/*" for jobs in SPECULATIONS), *(f"logs/{jobs}.txt" for jobs in SPECULATIONS))
#: The files of policies, and the plans that they are held against.
_POLICIES = ("policies/*", "configuration/policies/*", *(f"plans/{jobs}/plan.json" for jobs in (*PLANS, *SPECULATIONS)))
_ONE_PREFIX = "One prefix of one bucket; the part after it is a job's id."


def acknowledge_findings(stack: TidegateStack) -> None:
    """Say for each finding why it stands."""
    _for_all(stack)
    _functions(stack)
    _runners(stack)
    _machines(stack)
    for queue in stack.messaging.dead_letters.values():
        _say(queue, "Serverless-SQSRedrivePolicy", "This is a dead-letter queue; an alarm watches it.")
    _say(
        stack.storage.bucket,
        "AwsSolutions-S1",
        "Server access logs are best effort and cost a bucket of their own; CloudTrail's data events record the same.",
    )
    _say(
        stack.api,
        "AwsSolutions-APIG4",
        "The forge cannot sign with IAM or a JWT: the function checks an HMAC over the raw body and fails closed.",
    )


def _for_all(stack: TidegateStack) -> None:
    runtime = "Python 3.13 until every package of the layer has wheels for a newer one on this platform."
    _say(stack, "AwsSolutions-L1", runtime)
    _say(stack, "Serverless-LambdaLatestVersion", runtime)
    _say(
        stack,
        "Serverless-LambdaEventSourceMappingDestination",
        "The sources are SQS queues: failed messages go to the queue's own dead-letter queue.",
    )


def _functions(stack: TidegateStack) -> None:
    bucket = stack.storage.bucket
    for spec in SPECS:
        function = stack.functions[spec.name]
        role = function.role
        if not isinstance(role, iam.Role):
            raise TypeError(f"{spec.name} has no role of its own")
        _say(role, _ANY, _XRAY)
        for pattern in ("plans/*", "logs/*", *_SPECULATIVE, *_POLICIES):
            _say(role, f"AwsSolutions-IAM5[Resource::{_arn_of(stack, bucket)}/{pattern}]", _ONE_PREFIX)
        if not spec.invoked_by_events:
            reason = "Invoked synchronously or from a queue, never asynchronously: its caller keeps what failed."
            _say(function, "Serverless-LambdaDLQ", reason)


def _runners(stack: TidegateStack) -> None:
    bucket = _arn_of(stack, stack.storage.bucket)
    for definition in (stack.runners.plan, stack.runners.apply, stack.runners.speculate):
        _say(definition, "AwsSolutions-ECS2", "The variables hold names and versions, no secrets.")
        _say(definition.obtain_execution_role(), _ANY, _REGISTRY)
        for pattern in ("plans/*", "plans/*/lock.hcl", "logs/*", "errored/*", *_SPECULATIVE):
            _say(definition.task_role, f"AwsSolutions-IAM5[Resource::{bucket}/{pattern}]", _ONE_PREFIX)
    for name, role in stack.runners.engine_roles.items():
        for policy in stack.settings.engine_policies(name):
            finding = f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{policy}]"
            _say(role, finding, "Chosen by the installation (plan_policies and the like).")
        state = f"arn:<AWS::Partition>:s3:::{stack.settings.state_bucket}"
        for pattern in ("*", "*.tflock"):
            _say(role, f"AwsSolutions-IAM5[Resource::{state}/{pattern}]", "The states of all roots lie in this bucket.")


def _machines(stack: TidegateStack) -> None:
    region = "<AWS::Region>:<AWS::AccountId>"
    for machine in (stack.deploy, stack.terraform, stack.pull_request, stack.drift):
        _say(machine.role, _ANY, _LOG_DELIVERY)
        for function in machine.functions:
            versions = f"AwsSolutions-IAM5[Resource::{_arn_of(stack, function)}:*]"
            _say(machine.role, versions, "Versions of one function: executions call the one of their own definition.")
    names = ("reconcile", "discover_roots", "discover_drift", "api")
    reconcile, discover, look, api = (stack.functions[name].role for name in names)
    watched = (
        (reconcile, stack.deploy),
        (reconcile, stack.pull_request),
        (reconcile, stack.drift),
        (discover, stack.pull_request),
        (discover, stack.drift),
        (look, stack.drift),
        (api, stack.drift),
    )
    for role, machine in ((stack.deploy.role, stack.terraform), *watched):
        executions = f"arn:<AWS::Partition>:states:{region}:execution:{machine.name}:*"
        if role is not None:
            _say(role, f"AwsSolutions-IAM5[Resource::{executions}]", "Executions of one machine, by any name.")
    plan, apply, speculate = stack.runners.plan, stack.runners.apply, stack.runners.speculate
    for machine, definition in (
        (stack.terraform, plan),
        (stack.terraform, apply),
        (stack.pull_request, speculate),
        (stack.drift, speculate),
    ):
        family = f"arn:<AWS::Partition>:ecs:{region}:task-definition/{definition.family}:*"
        _say(machine.role, f"AwsSolutions-IAM5[Resource::{family}]", "Revisions of one task definition.")
    cluster = _arn_of(stack, stack.runners.cluster).removesuffix(".Arn>")
    tasks = f"arn:<AWS::Partition>:ecs:{region}:task/{cluster}>/*"
    stopping = [stack.functions[spec.name].role for spec in SPECS if Capability.STOP_RUNNERS in spec.capabilities]
    for role in (stack.terraform.role, stack.pull_request.role, stack.drift.role, *stopping):
        if role is not None:
            _say(role, f"AwsSolutions-IAM5[Resource::{tasks}]", "The tasks of one cluster, by any name.")
    schedules = f"arn:<AWS::Partition>:scheduler:{region}:schedule/{stack.schedules.name}/*"
    for role in (discover, look):
        if role is not None:
            _say(role, f"AwsSolutions-IAM5[Resource::{schedules}]", "The schedules of one group, by any name.")


def _arn_of(stack: TidegateStack, construct: IConstruct) -> str:
    """Return how cdk-nag writes the ARN of a resource of the stack."""
    child = construct.node.default_child
    if child is None:
        raise TypeError(f"{construct.node.path} is no resource")
    return f"<{stack.get_logical_id(child)}.Arn>"  # type: ignore[arg-type]  # The child is a CfnElement.


def _say(construct: IConstruct, rules: str | Iterable[str], reason: str) -> None:
    for rule in [rules] if isinstance(rules, str) else rules:
        Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))

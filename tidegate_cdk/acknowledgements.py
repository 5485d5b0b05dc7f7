"""Accepted findings of cdk-nag, each with the reason. Everything else fails ``make lint``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aws_cdk import Acknowledgment, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from tidegate_cdk.capabilities import PLANS, SPECULATIVE_ATTEMPTS, Capability
from tidegate_cdk.cluster_machines import BEGINNINGS
from tidegate_cdk.function_specs import SPECS

if TYPE_CHECKING:
    from tidegate_cdk.construct import Tidegate

_ANY = "AwsSolutions-IAM5[Resource::*]"
_XRAY = "X-Ray's PutTraceSegments and PutTelemetryRecords do not support resource-level permissions."
_LOG_DELIVERY = "The actions for vended log deliveries and for X-Ray do not support resource-level permissions."
_REGISTRY = "ecr:GetAuthorizationToken does not support resource-level permissions."
_SPECULATIVE = (
    *(f"plans/{jobs}/*" for jobs in SPECULATIVE_ATTEMPTS),
    *(f"logs/{jobs}.txt" for jobs in SPECULATIVE_ATTEMPTS),
)
#: The policy files, and the plans that they evaluate.
_POLICIES = (
    "policies/*",
    "configuration/policies/*",
    *(f"plans/{jobs}/plan.json" for jobs in (*PLANS, *SPECULATIVE_ATTEMPTS)),
    *(f"plans/{jobs}/cluster-plan.json" for jobs in (*PLANS, *SPECULATIVE_ATTEMPTS)),
)
#: Replays: their orders and results, and the image sets that they are made of.
_REPLAYS = ("replays/*", "replays/*/order.json", "config-updates/*")
_REPLAYED = (
    "replays/*/order.json",
    "replays/*/result.json",
    "replays/*/commits.bundle",
    *(f"logs/*-replay-{number}.txt" for number in ("?", "??")),
)
#: Tasks of clusters: what the functions store and read, and what the runners do.
_CLUSTERS = (
    "cluster-tasks/*/order.json",
    "cluster-tasks/*/result.json",
    *(f"plans/{jobs}/cluster.json" for jobs in PLANS),
)
_TASKS = (
    "cluster-tasks/*/order.json",
    "cluster-tasks/*/result.json",
    "cluster-tasks/*/diagnostics.*",
    "clusters/*",
    *(f"logs/*-task-{number}.txt" for number in ("?", "??", "???")),
)
_ONE_PREFIX = "One prefix of one bucket; a job's id follows it."


def acknowledge_findings(tidegate: Tidegate) -> None:
    """Acknowledge each finding with its reason."""
    _for_all(tidegate)
    _functions(tidegate)
    _runners(tidegate)
    _machines(tidegate)
    _clusters(tidegate)
    _items(tidegate)
    for queue in tidegate.messaging.dead_letters.values():
        _say(queue, "Serverless-SQSRedrivePolicy", "This is a dead-letter queue; an alarm watches it.")
    _say(
        tidegate.storage.bucket,
        "AwsSolutions-S1",
        "Server access logs are best effort and need their own bucket; CloudTrail data events record the same.",
    )
    _say(
        tidegate.api,
        "AwsSolutions-APIG4",
        "VCS providers cannot sign with IAM or a JWT: the function checks an HMAC over the raw body and fails closed.",
    )


def _for_all(tidegate: Tidegate) -> None:
    runtime = "Python 3.13 until every package of the layer has wheels for a newer one on this platform."
    _say(tidegate, "AwsSolutions-L1", runtime)
    _say(tidegate, "Serverless-LambdaLatestVersion", runtime)
    _say(
        tidegate,
        "Serverless-LambdaEventSourceMappingDestination",
        "The sources are SQS queues: failed messages go to the queue's own dead-letter queue.",
    )


def _functions(tidegate: Tidegate) -> None:
    bucket = tidegate.storage.bucket
    for spec in SPECS:
        function = tidegate.functions[spec.name]
        role = function.role
        if not isinstance(role, iam.Role):
            raise TypeError(f"{spec.name} needs its own role")
        _say(role, _ANY, _XRAY)
        for pattern in ("plans/*", "logs/*", *_SPECULATIVE, *_POLICIES, *_REPLAYS, *_CLUSTERS):
            _say(role, f"AwsSolutions-IAM5[Resource::{_arn_of(bucket)}/{pattern}]", _ONE_PREFIX)
        if not spec.invoked_by_events:
            reason = "Invoked synchronously or from a queue, never asynchronously: its caller handles failures."
            _say(function, "Serverless-LambdaDLQ", reason)


def _runners(tidegate: Tidegate) -> None:
    bucket = _arn_of(tidegate.storage.bucket)
    insights = "Its metrics cost more than the runners; container_insights turns them on."
    _say(tidegate.runners.cluster, "AwsSolutions-ECS4", insights)
    runners = tidegate.runners
    for definition in (runners.plan, runners.apply, runners.speculate, runners.replay, runners.task):
        _say(definition, "AwsSolutions-ECS2", "The variables hold names and versions, no secrets.")
        _say(definition.obtain_execution_role(), _ANY, _REGISTRY)
        for pattern in ("plans/*", "plans/*/lock.hcl", "logs/*", "errored/*", *_SPECULATIVE, *_REPLAYED, *_TASKS):
            _say(definition.task_role, f"AwsSolutions-IAM5[Resource::{bucket}/{pattern}]", _ONE_PREFIX)
    for name, role in tidegate.runners.engine_roles.items():
        for policy in tidegate.settings.engine_policies(name):
            finding = f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{policy}]"
            _say(role, finding, "Chosen by the installation (plan_policies and similar settings).")
        state = f"arn:<AWS::Partition>:s3:::{tidegate.settings.state_bucket}"
        for pattern in ("*", "*.tflock"):
            _say(
                role,
                f"AwsSolutions-IAM5[Resource::{state}/{pattern}]",
                "This bucket has the Terraform states of all roots.",
            )


def _machines(tidegate: Tidegate) -> None:
    region = "<AWS::Region>:<AWS::AccountId>"
    for machine in tidegate.machines:
        _say(machine.role, _ANY, _LOG_DELIVERY)
        for function in machine.functions:
            versions = f"AwsSolutions-IAM5[Resource::{_arn_of(function)}:*]"
            _say(
                machine.role,
                versions,
                "Versions of one function: each execution calls the version of its own definition.",
            )
    names = ("reconcile", "discover_roots", "git_steps", "api")
    reconcile, discover, look, api = (tidegate.functions[name].role for name in names)
    watched = (
        (reconcile, tidegate.deploy),
        (reconcile, tidegate.pull_request),
        (reconcile, tidegate.drift),
        (discover, tidegate.pull_request),
        (discover, tidegate.drift),
        (look, tidegate.drift),
        (api, tidegate.drift),
        (reconcile, tidegate.config_update),
        (reconcile, tidegate.promotion),
    )
    for role, machine in ((tidegate.deploy.role, tidegate.terraform), *watched):
        executions = f"arn:<AWS::Partition>:states:{region}:execution:{machine.name}:*"
        if role is not None:
            _say(role, f"AwsSolutions-IAM5[Resource::{executions}]", "Executions of one machine, by any name.")
    plan, apply, speculate = tidegate.runners.plan, tidegate.runners.apply, tidegate.runners.speculate
    for machine, definition in (
        (tidegate.terraform, plan),
        (tidegate.terraform, apply),
        (tidegate.pull_request, speculate),
        (tidegate.drift, speculate),
        (tidegate.config_update, tidegate.runners.replay),
    ):
        family = f"arn:<AWS::Partition>:ecs:{region}:task-definition/{definition.family}:*"
        _say(machine.role, f"AwsSolutions-IAM5[Resource::{family}]", "Revisions of one task definition.")
    cluster = _arn_of(tidegate.runners.cluster).removesuffix(".Arn>")
    tasks = f"arn:<AWS::Partition>:ecs:{region}:task/{cluster}>/*"
    stopping = [tidegate.functions[spec.name].role for spec in SPECS if Capability.STOP_RUNNERS in spec.capabilities]
    running = (tidegate.terraform, tidegate.pull_request, tidegate.drift, tidegate.config_update)
    for role in (*(machine.role for machine in running), *stopping):
        if role is not None:
            _say(role, f"AwsSolutions-IAM5[Resource::{tasks}]", "The tasks of one cluster, by any name.")
    schedules = f"arn:<AWS::Partition>:scheduler:{region}:schedule/{tidegate.schedules.name}/*"
    for role in (discover, look):
        if role is not None:
            _say(role, f"AwsSolutions-IAM5[Resource::{schedules}]", "The schedules of one group, by any name.")


def _clusters(tidegate: Tidegate) -> None:
    region, prefix = "<AWS::Region>:<AWS::AccountId>", tidegate.settings.prefix
    states = f"arn:<AWS::Partition>:states:{region}"
    task, error, workflows = tidegate.cluster_task, tidegate.cluster_error, tidegate.cluster_machines
    for role in (task.role, error.role, workflows.role):
        _say(role, _ANY, _LOG_DELIVERY)
    called = [(task.role, "forge_steps"), *((each, "steps") for each in (task.role, error.role, workflows.role))]
    for role, name in called:
        versions = f"AwsSolutions-IAM5[Resource::{_arn_of(tidegate.functions[name])}:*]"
        _say(role, versions, "Versions of one function: each execution calls the version of its own definition.")
    children = [
        (task.role, tidegate.terraform.name),
        (error.role, task.name),
        (workflows.role, task.name),
        (workflows.role, error.name),
    ]
    for role, name in children:
        _say(
            role, f"AwsSolutions-IAM5[Resource::{states}:execution:{name}:*]", "Executions of one machine, by any name."
        )
    for beginning in BEGINNINGS:
        machines = f"{prefix}-{beginning}*"
        for resource in (f"stateMachine:{machines}", f"execution:{machines}:*"):
            reason = "The machines of one kind of cluster, one for each operation and provider."
            _say(tidegate.terraform.role, f"AwsSolutions-IAM5[Resource::{states}:{resource}]", reason)
    family = f"arn:<AWS::Partition>:ecs:{region}:task-definition/{tidegate.runners.task.family}:*"
    _say(task.role, f"AwsSolutions-IAM5[Resource::{family}]", "Revisions of one task definition.")
    cluster = _arn_of(tidegate.runners.cluster).removesuffix(".Arn>")
    tasks = f"arn:<AWS::Partition>:ecs:{region}:task/{cluster}>/*"
    _say(task.role, f"AwsSolutions-IAM5[Resource::{tasks}]", "The tasks of one cluster, by any name.")
    secrets = f"arn:<AWS::Partition>:secretsmanager:{region}:secret:{prefix}/clusters/*"
    _say(tidegate.runners.task.task_role, f"AwsSolutions-IAM5[Resource::{secrets}]", "Kubeconfigs, which people store.")
    found = f"AwsSolutions-IAM5[Resource::{states}:execution:{prefix}-cluster-*:*]"
    api = tidegate.functions["api"].role
    if api is not None:
        _say(api, found, "Executions of the machines of clusters, by any name.")


def _items(tidegate: Tidegate) -> None:
    for machine in (tidegate.pull_request, tidegate.drift):
        for name in (machine.name, *(f"{machine.name}/{label}" for label in machine.labels)):
            executions = f"arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:{name}:*"
            _say(machine.role, f"AwsSolutions-IAM5[Resource::{executions}]", "Executions of the machine's own items.")


def _arn_of(construct: IConstruct) -> str:
    """Return how cdk-nag writes the ARN of a resource of the stack."""
    child = construct.node.default_child
    if child is None:
        raise TypeError(f"{construct.node.path} is not a resource")
    return f"<{Stack.of(construct).get_logical_id(child)}.Arn>"  # type: ignore[arg-type]  # The child is a CfnElement.


def _say(construct: IConstruct, rules: str | Iterable[str], reason: str) -> None:
    for rule in [rules] if isinstance(rules, str) else rules:
        Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))

"""The Lambda functions that run plans, if enabled: of deploys, and of pull requests."""

from __future__ import annotations

import jsii
from aws_cdk import Duration, RemovalPolicy, Size, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from tidegate_cdk.architecture import ARCHITECTURES
from tidegate_cdk.capabilities import allow
from tidegate_cdk.network import Network
from tidegate_cdk.plan_runner import DISK
from tidegate_cdk.runners import ON_LAMBDA, Runners
from tidegate_cdk.settings import Settings

#: Lambda's maximum. The runner stops two minutes before.
_LIMIT = Duration.minutes(15)
#: Lambda's minimum, and as long as the state machine waits for the start: a later call does nothing.
_MAX_EVENT_AGE = Duration.minutes(1)
#: The source and the detail type of what Lambda tells an event bus of a failed call (AWS Lambda, Capturing records of
#: Lambda asynchronous invocations).
FAILED_CALL = ("lambda", "Lambda Function Invocation Result - Failure")
#: What Lambda needs to place a function in a network (AWS Lambda, Giving functions access to resources in a VPC).
#: They name the resources that each of them is about.
_OF_INTERFACES = ("ec2:AssignPrivateIpAddresses", "ec2:DeleteNetworkInterface", "ec2:UnassignPrivateIpAddresses")
_LOOKS = ("ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets")


@jsii.implements(lambda_.IDestination)
class _FailuresTo:
    """A bus that receives failed invocations. Creating the function grants the role that."""

    def __init__(self, bus: events.IEventBus) -> None:
        self._bus = bus

    def bind(
        self,
        _scope: Construct,
        _function: lambda_.IFunction,
        *,
        type: lambda_.DestinationType | None = None,  # noqa: A002, ARG002  # The CDK's own name for it.
    ) -> lambda_.DestinationConfig:
        return lambda_.DestinationConfig(destination=self._bus.event_bus_arn)


class PlanFunctions(Construct):
    """The same image, role and environment as the tasks of plans have. Each job is a tenant of its own.

    ``bus`` receives failed invocations.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        runners: Runners,
        network: Network,
        bus: events.IEventBus,
    ) -> None:
        super().__init__(scope, construct_id)
        self._settings, self._runners, self._network, self._bus = settings, runners, network, bus
        self.plan = self._function("plan")
        self.speculate = self._function("speculate")

    @property
    def all(self) -> tuple[lambda_.Function, ...]:
        return self.plan, self.speculate

    @property
    def versions(self) -> list[str]:
        """The ARN pattern of each function's versions."""
        return [f"{function.function_arn}:*" for function in self.all]

    def _function(self, kind: str) -> lambda_.Function:
        memory = self._settings.plan_runner.memory
        role = self._runners.task_roles[kind]
        role.add_to_policy(allow("logs:CreateLogStream", "logs:PutLogEvents", on=self._runners.log_group.log_group_arn))
        role.add_to_policy(self._tell_failures())
        function = lambda_.DockerImageFunction(
            self,
            kind.capitalize(),
            description=f"Runs a {kind} job, like the Fargate task of this name",
            code=self._runners.function_code(),
            architecture=ARCHITECTURES[self._settings.architecture].functions,
            role=role,
            log_group=self._runners.log_group,
            timeout=_LIMIT,
            memory_size=memory,
            ephemeral_storage_size=Size.mebibytes(DISK),
            environment={**self._runners.environments[kind], **_own_environment(memory)},
            tenancy_config=lambda_.TenancyConfig.PER_TENANT,
            current_version_options=lambda_.VersionOptions(
                removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
                # The plan's state machine retries it, because it knows the job's status.
                retry_attempts=0,
                max_event_age=_MAX_EVENT_AGE,
                on_failure=_FailuresTo(self._bus),
            ),
        )
        self._finish(function, role)
        return function

    def _tell_failures(self) -> iam.PolicyStatement:
        """Return the permission to publish failed calls on the bus in this role, and nothing else."""
        return iam.PolicyStatement(
            actions=["events:PutEvents"],
            resources=[self._bus.event_bus_arn],
            conditions={"StringEquals": {"events:source": FAILED_CALL[0], "events:detail-type": FAILED_CALL[1]}},
        )

    def _finish(self, function: lambda_.Function, role: iam.Role) -> None:
        resource, version = function.node.default_child, function.current_version
        assert isinstance(resource, lambda_.CfnFunction)  # noqa: S101  # For the type checker.
        resource.add_metadata("Tidegate::Source", "runner")
        if self._settings.site.vpc or self._settings.site.gateways:
            resource.vpc_config = lambda_.CfnFunction.VpcConfigProperty(
                subnet_ids=list(self._network.subnets),
                security_group_ids=[self._network.security_group.security_group_id],
            )
            for statement in self._interfaces():
                role.add_to_policy(statement)
        # Executions use the version of their own definition, which keeps its failure destination.
        for part in version.node.find_all():
            if isinstance(part, lambda_.CfnEventInvokeConfig):
                part.apply_removal_policy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)

    def _interfaces(self) -> list[iam.PolicyStatement]:
        """Return what lets Lambda make an interface of the function's network."""
        arns = [
            Stack.of(self).format_arn(service="ec2", resource=kind, resource_name="*")
            for kind in ("network-interface", "subnet", "security-group")
        ]
        return [
            iam.PolicyStatement(actions=["ec2:CreateNetworkInterface"], resources=arns),
            iam.PolicyStatement(actions=list(_OF_INTERFACES), resources=arns[:1]),
            iam.PolicyStatement(actions=list(_LOOKS), resources=["*"]),
        ]


def _own_environment(memory: int) -> dict[str, str]:
    """Return what is otherwise than in a task: where can be written, and how much memory there is."""
    return {"HOME": ON_LAMBDA, "TMPDIR": ON_LAMBDA, "GOMEMLIMIT": f"{memory // 2}MiB"}

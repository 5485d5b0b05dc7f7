"""The Lambda functions with their permissions and time limits. Their roles share nothing.

State machines call published versions, which stay: an execution may wait for weeks, and continues with its original
definition, and so with that definition's function versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from tidegate_cdk.function_specs import SPECS, FunctionSpec
from tidegate_cdk.images import FUNCTION_CONTEXT
from tidegate_cdk.layers import RUNTIME, Layers
from tidegate_cdk.sources import ROOT
from tidegate_cdk.verbs import NEEDS

#: A version is retained when it leaves the template. One whose own deployment is rolled back is deleted: Lambda does
#: not publish the same code and configuration twice, so the next deployment would fail on the remaining one.
VERSIONS_STAY = lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)


class Functions(Construct):
    """All functions by name, each with its own role and log group."""

    def __init__(self, scope: Construct, construct_id: str, *, layers: Layers, undelivered: sqs.IQueue) -> None:
        super().__init__(scope, construct_id)
        # A layer's content makes a new version, too: nearly all code is there.
        self.node.set_context("@aws-cdk/aws-lambda:recognizeLayerVersion", True)
        self._layers = layers
        self._undelivered = undelivered
        self.by_name: Mapping[str, lambda_.Function] = {spec.name: self._function(spec) for spec in SPECS}

    def _function(self, spec: FunctionSpec) -> lambda_.Function:
        place = Construct(self, spec.id)
        role = iam.Role(
            place,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"The function {spec.name}: {', '.join(spec.verbs)}",
        )
        log_group = logs.LogGroup(
            place, "Log", retention=logs.RetentionDays.THREE_MONTHS, removal_policy=RemovalPolicy.DESTROY
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log_group.log_group_arn]
            )
        )
        function = self._image(place, spec, role, log_group) if spec.image else self._zip(place, spec, role, log_group)
        resource = function.node.default_child
        assert isinstance(resource, lambda_.CfnFunction)  # noqa: S101  # For the type checker.
        resource.add_metadata("Tidegate::Source", f"functions/{spec.name}")
        resource.add_metadata("Tidegate::Verbs", {verb: [need.value for need in NEEDS[verb]] for verb in spec.verbs})
        return function

    def _zip(self, place: Construct, spec: FunctionSpec, role: iam.Role, log_group: logs.LogGroup) -> lambda_.Function:
        return lambda_.Function(
            place,
            "Resource",
            description=spec.description,
            runtime=RUNTIME,
            architecture=self._layers.architecture.functions,
            handler="handler.lambda_handler",
            code=lambda_.Code.from_asset(str(ROOT / "functions" / spec.name), exclude=["**/__pycache__"]),
            layers=self._layers_of(spec),
            role=role,
            log_group=log_group,
            timeout=Duration.seconds(spec.timeout),
            memory_size=spec.memory,
            tracing=lambda_.Tracing.ACTIVE,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
            dead_letter_queue=self._undelivered if spec.invoked_by_events else None,
            current_version_options=VERSIONS_STAY,
        )

    def _image(
        self, place: Construct, spec: FunctionSpec, role: iam.Role, log_group: logs.LogGroup
    ) -> lambda_.Function:
        code = lambda_.DockerImageCode.from_image_asset(
            str(ROOT),
            file=f"functions/{spec.image}/Dockerfile",
            build_args={"FUNCTION": spec.name},
            cmd=["handler.lambda_handler"],
            platform=self._layers.architecture.images,
            exclude=FUNCTION_CONTEXT.exclude,
            ignore_mode=FUNCTION_CONTEXT.ignore_mode,
        )
        return lambda_.DockerImageFunction(
            place,
            "Resource",
            description=spec.description,
            architecture=self._layers.architecture.functions,
            code=code,
            role=role,
            log_group=log_group,
            timeout=Duration.seconds(spec.timeout),
            memory_size=spec.memory,
            tracing=lambda_.Tracing.ACTIVE,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
            current_version_options=VERSIONS_STAY,
        )

    def _layers_of(self, spec: FunctionSpec) -> Sequence[lambda_.LayerVersion]:
        return [self._layers.core, self._layers.third_party] if spec.third_party else [self._layers.core]

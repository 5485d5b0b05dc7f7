"""The Fargate runners: of a plan, of an apply and of a speculative plan, under roles that share nothing."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy, Size, Stack
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk.asl_state_machine import machine_arn
from cdk.capabilities import SPECULATIONS, allow, on_jobs, tell_missing
from cdk.images import RUNNER_CONTEXT
from cdk.layers import ROOT
from cdk.network import Network
from cdk.settings import Settings
from cdk.storage import Storage

#: The largest that ECS allows: the engine gets one interrupt and most of this time to save its state.
_STOP_TIMEOUT = Duration.seconds(120)
#: A provider of AWS unpacks to 0.7 GB; a root may use several.
_SCRATCH_GIB = 30


#: What a speculation leaves, and nothing that an apply would read.
_SPECULATIVE = (*(f"plans/{jobs}/*" for jobs in SPECULATIONS), *(f"logs/{jobs}.txt" for jobs in SPECULATIONS))


@dataclass(frozen=True, slots=True)
class RunnerKind:
    """What is different between the runners: what they read and write in the bucket, and the engine's policies.

    ``machines`` wait for their answers. ``engine_locks`` lets the engine write the locks of states, and nothing else.
    """

    name: str
    machines: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    engine_locks: bool = False
    engine_writes_state: bool = False


class Runners(Construct):
    """The cluster and the three task definitions."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        storage: Storage,
        network: Network,
        terraform_machine: str,
        speculating_machines: tuple[str, ...],
    ) -> None:
        super().__init__(scope, construct_id)
        self._settings, self._storage = settings, storage
        self.cluster = ecs.Cluster(
            self,
            "Cluster",
            cluster_name=settings.prefix,
            vpc=network.vpc,
            container_insights_v2=ecs.ContainerInsights.ENABLED,
        )
        self.log_group = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.SIX_MONTHS, removal_policy=RemovalPolicy.DESTROY
        )
        self._image = ecr_assets.DockerImageAsset(
            self,
            "Image",
            directory=str(ROOT),
            file="runner/Dockerfile",
            platform=ecr_assets.Platform.LINUX_ARM64,
            exclude=RUNNER_CONTEXT.exclude,
            ignore_mode=RUNNER_CONTEXT.ignore_mode,
        )
        self.engine_roles: dict[str, iam.Role] = {}
        deploying = (terraform_machine,)
        self.plan = self._runner(RunnerKind("plan", deploying, (), ("plans/*", "logs/*"), engine_locks=True))
        self.apply = self._runner(
            RunnerKind("apply", deploying, ("plans/*",), ("logs/*", "errored/*"), engine_writes_state=True)
        )
        self.speculate = self._runner(RunnerKind("speculate", speculating_machines, (), _SPECULATIVE))

    def _runner(self, kind: RunnerKind) -> ecs.FargateTaskDefinition:
        place = Construct(self, kind.name.capitalize())
        role = self._task_role(place, kind)
        definition = ecs.FargateTaskDefinition(
            place,
            "TaskDefinition",
            family=f"{self._settings.prefix}-{kind.name}",
            cpu=1024,
            memory_limit_mib=2048,
            ephemeral_storage_gib=_SCRATCH_GIB,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ecs.CpuArchitecture.ARM64, operating_system_family=ecs.OperatingSystemFamily.LINUX
            ),
            task_role=role,
            execution_role=iam.Role(
                place,
                "ExecutionRole",
                assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"),
                description=f"Starts the {kind.name} runner: pulls its image, opens its log",
            ),
            volumes=[ecs.Volume(name="scratch")],
        )
        engine = self._engine_role(place, kind, role)
        self._container(definition, kind, engine)
        resource = definition.node.default_child
        assert isinstance(resource, ecs.CfnTaskDefinition)  # noqa: S101  # For the type checker.
        resource.add_metadata("Tidegate::Source", "runner")
        return definition

    def _container(self, definition: ecs.FargateTaskDefinition, kind: RunnerKind, engine: iam.Role) -> None:
        container = definition.add_container(
            "runner",
            image=ecs.ContainerImage.from_docker_image_asset(self._image),
            environment=self._environment(engine),
            stop_timeout=_STOP_TIMEOUT,
            readonly_root_filesystem=True,
            # A slow log must not slow an apply; the complete log goes to S3 besides.
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix=kind.name,
                log_group=self.log_group,
                mode=ecs.AwsLogDriverMode.NON_BLOCKING,
                max_buffer_size=Size.mebibytes(8),
            ),
        )
        # The only place that can be written. The image makes it the runner's own.
        container.add_mount_points(ecs.MountPoint(container_path="/scratch", source_volume="scratch", read_only=False))

    def _environment(self, engine: iam.Role) -> dict[str, str]:
        settings = self._settings
        environment = {
            "TIDEGATE_TABLE": self._storage.table.table_name,
            "TIDEGATE_ARTIFACT_BUCKET": self._storage.bucket.bucket_name,
            "TIDEGATE_ENGINE_ROLE": engine.role_arn,
            "TIDEGATE_DEFAULT_TERRAFORM": settings.default_terraform,
            "TIDEGATE_DEFAULT_TOFU": settings.default_tofu,
            "TIDEGATE_ALLOW_LOCAL_STATE": settings.allow_local_state,
        }
        return (
            {**environment, "TIDEGATE_RELEASE_MIRROR": settings.release_mirror}
            if settings.release_mirror
            else environment
        )

    def _task_role(self, place: Construct, kind: RunnerKind) -> iam.Role:
        """Make the runner's own role: its job's records, its prefixes, its machine's tokens."""
        role = iam.Role(
            place,
            "TaskRole",
            assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"),
            description=f"The program of the {kind.name} runner, not the engine that it runs",
        )
        bucket = self._storage.bucket
        tokens = ("states:SendTaskSuccess", "states:SendTaskFailure", "states:SendTaskHeartbeat")
        items = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem")
        for statement in (
            *([tell_missing(bucket.bucket_arn, *kind.reads)] if kind.reads else []),
            on_jobs(self._storage.table.table_arn, kind.name, *items),
            *(allow("s3:GetObject", on=bucket.arn_for_objects(prefix)) for prefix in kind.reads),
            *(allow("s3:PutObject", on=bucket.arn_for_objects(prefix)) for prefix in kind.writes),
            *(allow(*tokens, on=machine_arn(self, machine)) for machine in kind.machines),
        ):
            role.add_to_policy(statement)
        return role

    def _engine_role(self, place: Construct, kind: RunnerKind, runner: iam.Role) -> iam.Role:
        """Make the role that the engine runs under; only this kind of runner may assume it."""
        policies = self._settings.engine_policies(kind.name)
        engine = iam.Role(
            place,
            "EngineRole",
            assumed_by=iam.ArnPrincipal(runner.role_arn),
            description=f"Terraform or OpenTofu at {kind.name} time",
            managed_policies=[_managed(place, index, name) for index, name in enumerate(policies)],
        )
        for statement in (*self._state_access(kind), *self._own_things()):
            engine.add_to_policy(statement)
        runner.add_to_policy(allow("sts:AssumeRole", on=engine.role_arn))
        self.engine_roles[kind.name] = engine
        return engine

    def _state_access(self, kind: RunnerKind) -> list[iam.PolicyStatement]:
        """Allow to read the states; planning may lock them, only applying may write them, a speculation neither."""
        if not self._settings.state_bucket:
            return []
        stack = Stack.of(self)
        bucket = stack.format_arn(service="s3", region="", account="", resource=self._settings.state_bucket)
        reading = [allow("s3:ListBucket", on=bucket), allow("s3:GetObject", on=f"{bucket}/*")]
        if not kind.engine_locks and not kind.engine_writes_state:
            return reading
        written = f"{bucket}/*" if kind.engine_writes_state else f"{bucket}/*.tflock"
        return [*reading, allow("s3:PutObject", "s3:DeleteObject", on=written)]

    def _own_things(self) -> list[iam.PolicyStatement]:
        """Deny what wide policies would open: Tidegate's own records, plans and tokens, whatever the engine runs."""
        bucket, table = self._storage.bucket, self._storage.table
        denied = iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=["dynamodb:*", "s3:*"],
            resources=[table.table_arn, f"{table.table_arn}/*", bucket.bucket_arn, bucket.arn_for_objects("*")],
        )
        return [denied]


def _managed(place: Construct, index: int, name: str) -> iam.IManagedPolicy:
    if name.startswith("arn:"):
        return iam.ManagedPolicy.from_managed_policy_arn(place, f"EnginePolicy{index}", name)
    return iam.ManagedPolicy.from_aws_managed_policy_name(name)

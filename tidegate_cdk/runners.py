"""The Fargate runners: for plans, applies, speculative plans, replays and tasks of clusters, under separate roles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from aws_cdk import ArnFormat, Duration, RemovalPolicy, Size, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from tidegate.clusters.rules.installed import USUAL
from tidegate.clusters.rules.installed import to_text as to_hooks_text
from tidegate.deploys.rules.aws_target import AllowedRoles, to_text
from tidegate_cdk.architecture import ARCHITECTURES
from tidegate_cdk.asl_state_machine import machine_arn, token_arns
from tidegate_cdk.capabilities import SPECULATIVE_ATTEMPTS, allow, on_jobs, tell_missing
from tidegate_cdk.images import RUNNER_CONTEXT
from tidegate_cdk.network import Network
from tidegate_cdk.settings import Settings
from tidegate_cdk.sources import ROOT
from tidegate_cdk.storage import Storage
from tidegate_cdk.target_roles import KEYS
from tidegate_cdk.trust import for_tasks

#: ECS's maximum: the engine gets one interrupt and most of this time to save its state.
_STOP_TIMEOUT = Duration.seconds(120)
#: The only directory that a function can write to.
ON_LAMBDA = "/tmp"  # noqa: S108  # Each job has one of its own.
_ECR_IMAGE = re.compile(r"([0-9]{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com/([a-z0-9._/-]+)@(sha256:[0-9a-f]{64})")


#: What a replay leaves. The commands of config repositories run beside it, so its role reaches nothing else.
_REPLAYED = (
    "replays/*/result.json",
    "replays/*/commits.bundle",
    *(f"logs/{jobs}.txt" for jobs in ("*-replay-?", "*-replay-??")),
)
#: The kind of runners that do tasks of clusters.
_TASK = "task"
#: What they leave: backups and configurations of clusters among it.
_TASKS = (
    "cluster-tasks/*/result.json",
    "cluster-tasks/*/diagnostics.*",
    "clusters/*",
    "errored/*",
    *(f"logs/{jobs}.txt" for jobs in ("*-task-?", "*-task-??", "*-task-???")),
)
#: What a speculation leaves, and nothing that an apply would read.
_SPECULATIVE = (
    *(f"plans/{jobs}/*" for jobs in SPECULATIVE_ATTEMPTS),
    *(f"logs/{jobs}.txt" for jobs in SPECULATIVE_ATTEMPTS),
)


@dataclass(frozen=True, slots=True)
class RunnerKind:
    """The differences between runners: their bucket access, and the engine's policies.

    ``machines`` wait for their results, those of ``items`` for each item of a Map. ``engine_locks`` lets the engine
    write state locks, and nothing else. Without ``engine``, there is no role that the runner may assume. The engine's
    policies are those of the kind ``like``. ``deploys`` tells that its engine gets the installation's variables.
    """

    name: str
    machines: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    items: bool = False
    engine: bool = True
    engine_locks: bool = False
    engine_writes_state: bool = False
    deletes: tuple[str, ...] = ()
    like: str = ""
    deploys: bool = False
    plans_clusters: bool = False

    @property
    def rights(self) -> str:
        """The kind whose settings its engine has."""
        return self.like or self.name


class Runners(Construct):
    """The cluster and the task definitions, one for each kind."""

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
        config_update_machine: str,
        cluster_task_machine: str,
        plans_on_lambda: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self._settings, self._storage, self._plans_on_lambda = settings, storage, plans_on_lambda
        self._architecture = ARCHITECTURES[settings.architecture]
        self.cluster = ecs.Cluster(
            self,
            "Cluster",
            cluster_name=settings.prefix,
            vpc=network.vpc,
            container_insights_v2=ecs.ContainerInsights.ENABLED
            if settings.container_insights
            else ecs.ContainerInsights.DISABLED,
        )
        self.log_group = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.SIX_MONTHS, removal_policy=RemovalPolicy.DESTROY
        )
        self._image = self._image_of(settings.runners.image)
        # Only what does tasks of clusters starts with their programs.
        self._task_image = self._image if settings.runners.image else self._built("TaskImage", "clusters")
        self.environments: dict[str, dict[str, str]] = {}
        self.engine_roles: dict[str, iam.Role] = {}
        self.task_roles: dict[str, iam.Role] = {}
        deploying = (terraform_machine,)
        # A deployed root is destroyed with its plan's stored lock file.
        self.plan = self._runner(
            RunnerKind(
                "plan",
                deploying,
                ("plans/*/lock.hcl",),
                ("plans/*", "logs/*"),
                engine_locks=True,
                deploys=True,
                plans_clusters=True,
            )
        )
        self.apply = self._runner(
            RunnerKind(
                "apply", deploying, ("plans/*",), ("logs/*", "errored/*"), engine_writes_state=True, deploys=True
            )
        )
        self.speculate = self._runner(
            RunnerKind("speculate", speculating_machines, (), _SPECULATIVE, items=True, plans_clusters=True)
        )
        self.task = self._runner(
            RunnerKind(
                "task",
                (cluster_task_machine,),
                ("cluster-tasks/*/order.json", "plans/*", "clusters/*"),
                _TASKS,
                deletes=("clusters/*",),
                engine_writes_state=True,
                like="apply",
                deploys=True,
            )
        )
        self.replay = self._runner(
            RunnerKind("replay", (config_update_machine,), ("replays/*/order.json",), _REPLAYED, engine=False)
        )

    def _image_of(self, own: str) -> ecs.ContainerImage:
        """Return the runner's image: Tidegate's, built here, or the installation's own, which may be in ECR."""
        if match := _ECR_IMAGE.fullmatch(own):
            account, region, name, digest = match.groups()
            arn = Stack.of(self).format_arn(
                service="ecr", region=region, account=account, resource="repository", resource_name=name
            )
            repository = ecr.Repository.from_repository_attributes(
                self, "OwnImage", repository_arn=arn, repository_name=name
            )
            self._place = repository, digest
            return ecs.ContainerImage.from_ecr_repository(repository, digest)
        if own:
            return ecs.ContainerImage.from_registry(own)
        return self._built("Image", "runner")

    def _built(self, name: str, target: str) -> ecs.ContainerImage:
        """Return an image of the runner's Dockerfile: that stage of it."""
        built = ecr_assets.DockerImageAsset(
            self,
            name,
            directory=str(ROOT),
            file="runner/Dockerfile",
            target=target,
            platform=self._architecture.images,
            exclude=RUNNER_CONTEXT.exclude,
            ignore_mode=RUNNER_CONTEXT.ignore_mode,
        )
        if target == "runner":
            self._place = built.repository, built.image_tag
        return ecs.ContainerImage.from_docker_image_asset(built)

    def function_code(self) -> lambda_.DockerImageCode:
        """Return the image for a function: another program of it begins, in a place that can be written there."""
        repository, tag = self._place
        return lambda_.DockerImageCode.from_ecr(
            repository, tag_or_digest=tag, entrypoint=["python", "-m", "runner.on_lambda"], working_directory=ON_LAMBDA
        )

    def _runner(self, kind: RunnerKind) -> ecs.FargateTaskDefinition:
        place = Construct(self, kind.name.capitalize())
        role = self._task_role(place, kind)
        size = self._settings.runners.offer.usual
        definition = ecs.FargateTaskDefinition(
            place,
            "TaskDefinition",
            family=f"{self._settings.prefix}-{kind.name}",
            cpu=size.cpu,
            memory_limit_mib=size.memory,
            ephemeral_storage_gib=size.disk,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=self._architecture.tasks, operating_system_family=ecs.OperatingSystemFamily.LINUX
            ),
            task_role=role,
            execution_role=iam.Role(
                place,
                "ExecutionRole",
                assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"),
                description=f"Starts the {kind.name} runner: pulls its image and creates its log stream",
            ),
            volumes=[ecs.Volume(name="scratch")],
        )
        self.task_roles[kind.name] = role
        engine = self._engine_role(place, kind, role) if kind.engine else None
        self.environments[kind.name] = self._environment(kind, engine)
        self._container(definition, kind)
        resource = definition.node.default_child
        assert isinstance(resource, ecs.CfnTaskDefinition)  # noqa: S101  # For the type checker.
        resource.add_metadata("Tidegate::Source", "runner")
        # A state machine's definition names one revision, which stays for executions of that definition.
        resource.apply_removal_policy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        return definition

    def _container(self, definition: ecs.FargateTaskDefinition, kind: RunnerKind) -> None:
        container = definition.add_container(
            "runner",
            image=self._task_image if kind.name == _TASK else self._image,
            environment=self.environments[kind.name],
            secrets=self._secrets(definition, kind),
            stop_timeout=_STOP_TIMEOUT,
            readonly_root_filesystem=True,
            # A slow log must not slow an apply; the complete log also goes to S3.
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix=kind.name,
                log_group=self.log_group,
                mode=ecs.AwsLogDriverMode.NON_BLOCKING,
                max_buffer_size=Size.mebibytes(8),
            ),
        )
        # The only place that can be written. The image makes it the runner's own.
        container.add_mount_points(ecs.MountPoint(container_path="/scratch", source_volume="scratch", read_only=False))

    def _secrets(self, definition: ecs.FargateTaskDefinition, kind: RunnerKind) -> dict[str, ecs.Secret]:
        """Return the secrets that the engine of deploys gets: ECS reads them when a task starts."""
        found = {}
        for name, secret in self._settings.runners.secrets.items() if kind.deploys else ():
            whole, _, field = secret.partition("#")
            stored = secretsmanager.Secret.from_secret_name_v2(definition, name, whole)
            found[name] = ecs.Secret.from_secrets_manager(stored, field or None)
        return found

    def _environment(self, kind: RunnerKind, engine: iam.Role | None) -> dict[str, str]:
        of_engine = self._engine_environment(engine) if engine else {}
        stored = {
            "TIDEGATE_TABLE": self._storage.table.table_name,
            "TIDEGATE_ARTIFACT_BUCKET": self._storage.bucket.bucket_name,
        }
        return {**stored, **of_engine, **self._configured(kind)}

    def _configured(self, kind: RunnerKind) -> dict[str, str]:
        """Return the installation's variables. A pull request's plan gets none: its author controls it."""
        runners, given = self._settings.runners, {}
        if runners.mask_patterns:
            given["TIDEGATE_MASK_PATTERNS"] = json.dumps(runners.mask_patterns)
        if kind.engine and any(runners.allowed_roles.phases.values()):
            # All phases for all kinds: a plan reports that its apply would be refused. Permissions are for one phase
            # only.
            given["TIDEGATE_TARGET_ROLES"] = to_text(runners.allowed_roles)
        if kind.plans_clusters and self._settings.clusters.hooks:
            given["TIDEGATE_CLUSTER_HOOKS"] = to_hooks_text(self._settings.clusters.hooks)
        if kind.plans_clusters and self._settings.clusters.registrars != USUAL:
            given["TIDEGATE_CLUSTER_REGISTRARS"] = ",".join(self._settings.clusters.registrars)
        if kind.name == _TASK:
            given["TIDEGATE_CLUSTER_SECRETS"] = f"{self._settings.prefix}/clusters"
        if not kind.deploys:
            return given
        names = {
            "TIDEGATE_RUNNER_VARIABLES": ",".join((*runners.variables, *runners.secrets)),
            "TIDEGATE_RUNNER_SECRETS": ",".join(runners.secrets),
        }
        return {**given, **runners.variables, **{name: value for name, value in names.items() if value}}

    def _engine_environment(self, engine: iam.Role) -> dict[str, str]:
        settings = self._settings
        environment = {
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
        """Create the runner's own role: its jobs' records, its prefixes, its machine's tokens."""
        runs = "the engine" if kind.engine else "the commands"
        role = iam.Role(
            place,
            "TaskRole",
            assumed_by=self._who_runs(kind),
            description=f"The {kind.name} runner's program, without {runs} that it runs",
        )
        bucket = self._storage.bucket
        tokens = ("states:SendTaskSuccess", "states:SendTaskFailure", "states:SendTaskHeartbeat")
        items = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem")
        for statement in (
            *([tell_missing(bucket.bucket_arn, *kind.reads)] if kind.reads else []),
            on_jobs(self._storage.table.table_arn, kind.name, *items, digits=3 if kind.name == _TASK else 2),
            *(allow("s3:GetObject", on=bucket.arn_for_objects(prefix)) for prefix in kind.reads),
            *(allow("s3:PutObject", on=bucket.arn_for_objects(prefix)) for prefix in kind.writes),
            *(allow("s3:DeleteObject", on=bucket.arn_for_objects(prefix)) for prefix in kind.deletes),
            *self._own_secrets(kind),
            *(allow(*tokens, on=arn) for arn in self._token_arns(kind)),
        ):
            role.add_to_policy(statement)
        return role

    def _own_secrets(self, kind: RunnerKind) -> list[iam.PolicyStatement]:
        """Allow reading kubeconfigs that cannot be made when they are needed. The engine cannot: it is denied."""
        if kind.name != _TASK:
            return []
        name = f"{self._settings.prefix}/clusters/*"
        arn = Stack.of(self).format_arn(
            service="secretsmanager", resource="secret", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
        )
        return [allow("secretsmanager:GetSecretValue", on=arn)]

    def _who_runs(self, kind: RunnerKind) -> iam.PrincipalBase:
        """Return the services that run this kind: applies and replays are on Fargate always."""
        tasks = for_tasks(self)
        if not self._plans_on_lambda or kind.engine_writes_state or not kind.engine:
            return tasks
        return iam.CompositePrincipal(tasks, iam.ServicePrincipal("lambda.amazonaws.com"))

    def _token_arns(self, kind: RunnerKind) -> Iterable[str]:
        """Return what the task tokens belong to that runners of a kind answer: those of layers to items of a Map."""
        if not kind.items:
            return (machine_arn(self, machine) for machine in kind.machines)
        return (arn for machine in kind.machines for arn in token_arns(self, machine))

    def _engine_role(self, place: Construct, kind: RunnerKind, runner: iam.Role) -> iam.Role:
        """Create the engine's role; only this kind of runner may assume it."""
        policies = self._settings.engine_policies(kind.name)
        engine = iam.Role(
            place,
            "EngineRole",
            assumed_by=iam.ArnPrincipal(runner.role_arn),
            description=f"Terraform or OpenTofu during {kind.name}",
            managed_policies=[_managed(place, index, name) for index, name in enumerate(policies)],
        )
        for statement in self._state_access(kind):
            engine.add_to_policy(statement)
        for target in self._settings.runners.target_roles[kind.rights]:
            engine.add_to_policy(allow("sts:AssumeRole", "sts:TagSession", on=target))
        runner.add_to_policy(allow("sts:AssumeRole", on=engine.role_arn))
        for statement in _target_access(self._settings.runners.allowed_roles, kind):
            runner.add_to_policy(statement)
        self.engine_roles[kind.name] = engine
        return engine

    def _state_access(self, kind: RunnerKind) -> list[iam.PolicyStatement]:
        """Allow reading the states; plans may lock them, only applies may write them, speculative plans neither."""
        if not self._settings.state_bucket:
            return []
        stack = Stack.of(self)
        bucket = stack.format_arn(service="s3", region="", account="", resource=self._settings.state_bucket)
        reading = [allow("s3:ListBucket", on=bucket), allow("s3:GetObject", on=f"{bucket}/*")]
        if not kind.engine_locks and not kind.engine_writes_state:
            return [*reading, *self._state_key("kms:Decrypt")]
        written = f"{bucket}/*" if kind.engine_writes_state else f"{bucket}/*.tflock"
        writing = allow("s3:PutObject", "s3:DeleteObject", on=written)
        return [*reading, writing, *self._state_key("kms:Decrypt", "kms:GenerateDataKey")]

    def _state_key(self, *actions: str) -> list[iam.PolicyStatement]:
        """Allow use of an encrypted state bucket's key, only through S3. Writing a lock encrypts it."""
        if not self._settings.site.state_key:
            return []
        through_s3 = {"StringLike": {"kms:ViaService": "s3.*.amazonaws.com"}}
        return [allow(*actions, on=self._settings.site.state_key, under=through_s3)]


def _target_access(allowed: AllowedRoles, kind: RunnerKind) -> list[iam.PolicyStatement]:
    """Allow assuming the roles of one phase, with tags and a source identity, only for this kind of runner."""
    _, phase = KEYS[kind.rights]
    named = (each.role for each in allowed.phases.get(phase, ()))
    arns = [each for each in dict.fromkeys(named) if each.startswith("arn:")]
    actions = ["sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"]
    return [iam.PolicyStatement(actions=actions, resources=arns)] if arns else []


def _managed(place: Construct, index: int, name: str) -> iam.IManagedPolicy:
    if name.startswith("arn:"):
        return iam.ManagedPolicy.from_managed_policy_arn(place, f"EnginePolicy{index}", name)
    return iam.ManagedPolicy.from_aws_managed_policy_name(name)

"""The functions: for each one what it may do and how long it may take. Nothing is shared between their roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk.capabilities import Capability
from cdk.images import FUNCTION_CONTEXT
from cdk.layers import ARCHITECTURE, ROOT, RUNTIME, Layers


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function: its directory's name, its rights, its time limit in seconds and its memory in MB."""

    name: str
    description: str
    capabilities: tuple[Capability, ...]
    timeout: int = 60
    memory: int = 512
    #: The folder of functions/ with the Dockerfile, for one that is an image.
    image: str = ""
    third_party: bool = True
    invoked_by_events: bool = False

    @property
    def id(self) -> str:
        """The name of the function in the template, which is also its placeholder in the state machines."""
        return "".join(word.capitalize() for word in self.name.split("_")) + "Function"


_C = Capability

#: GitHub waits for 10 s for an answer to a webhook; state machines wait for 120 s for a task's function.
SPECS: tuple[FunctionSpec, ...] = (
    FunctionSpec(
        "webhook",
        "Verifies, stores and queues webhook deliveries",
        (_C.DELIVERIES, _C.SEND_EVENTS, _C.WEBHOOK_SECRET, _C.COMMENT_PREFIXES),
        timeout=9,
        memory=1024,
        third_party=False,
    ),
    FunctionSpec(
        "discover_roots",
        "Finds the roots that a push or a comment is about and enqueues their deployments",
        (
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.ASK_GATES,
            _C.CATALOG,
            _C.DELIVERIES,
            _C.PUSH_QUEUE,
            _C.READ_ORGANIZATION,
            _C.PLAN_REVIEW,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.START_DEPLOYS,
            _C.ANSWER_WORKERS,
            _C.PULL_REQUESTS,
            _C.OPEN_INDEX,
            _C.LAYERS,
            _C.PLACES,
            _C.PULL_CHECKS,
            _C.REMOVE_LAYERS,
            _C.START_PULL_REQUESTS,
            _C.DRIFTS,
            _C.SCHEDULE_DRIFT,
            _C.STORE_POLICIES,
            _C.READ_JOBS,
            _C.ANSWER_JOBS,
            _C.FORGE,
        ),
        timeout=300,
        memory=2048,
        image="discover_roots",
    ),
    FunctionSpec(
        "answer_button",
        "Answers the buttons of check runs and runs checks again",
        (
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.ASK_GATES,
            _C.DELIVERIES,
            _C.PRESS_QUEUE,
            _C.JOBS,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.START_DEPLOYS,
            _C.ANSWER_WORKERS,
            _C.ANSWER_JOBS,
            _C.READ_ARTIFACTS,
            _C.FORGE,
        ),
    ),
    FunctionSpec(
        "api",
        "Answers programs with JSON and browsers with pages",
        (
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.ASK_GATES,
            _C.READ_PULL_REQUESTS,
            _C.READ_LAYERS,
            _C.READ_PLACES,
            _C.READ_DRIFTS,
            _C.OPEN_INDEX,
            _C.READ_CATALOG,
            _C.READ_JOBS,
            _C.READ_ARTIFACTS,
            _C.DELIVERIES,
            _C.SEND_EVENTS,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.START_DEPLOYS,
            _C.ANSWER_WORKERS,
            _C.ANSWER_JOBS,
            _C.FORGE,
            _C.OPERATORS,
        ),
        # API Gateway waits for 30 s. The memory decides about the processor: a page is rendered in half the time.
        timeout=29,
        memory=1024,
    ),
    FunctionSpec(
        "publish_check_run",
        "Brings check runs up to date",
        (
            _C.READ_QUEUES,
            _C.READ_LINES,
            _C.DEPLOYMENTS,
            _C.MANY_DEPLOYMENTS,
            _C.READ_CHANGE_SETS,
            _C.PULL_REQUESTS,
            _C.LAYERS,
            _C.READ_PLACES,
            _C.PULL_CHECKS,
            _C.CHECK_RUN_QUEUE,
            _C.READ_ARTIFACTS,
            _C.FORGE,
        ),
    ),
    FunctionSpec(
        "refresh_line",
        "Brings the check runs of a queue's line up to date",
        (_C.READ_QUEUES, _C.READ_DEPLOYMENTS, _C.LINES, _C.CHECK_RUN_QUEUE, _C.LINE_QUEUES, _C.ASK_GATES),
        timeout=30,
    ),
    FunctionSpec(
        "execution_closed",
        "Releases the queue of an execution that died",
        (_C.QUEUES, _C.JOBS, _C.ANNOUNCE, _C.ASK_GATES, _C.AUDIT, _C.START_DEPLOYS, _C.ANSWER_WORKERS),
        invoked_by_events=True,
    ),
    FunctionSpec(
        "runner_stopped",
        "Fails the tokens of a runner that stopped",
        (_C.JOBS, _C.ANSWER_JOBS, _C.ANSWER_SPECULATIONS),
        invoked_by_events=True,
    ),
    FunctionSpec(
        "reconcile",
        "Repairs what events missed",
        (
            _C.OPEN_INDEX,
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.ASK_GATES,
            _C.JOBS,
            _C.DELIVERIES,
            _C.REPOSITORIES,
            _C.SEND_EVENTS,
            _C.ANNOUNCE,
            _C.AUDIT,
            _C.START_DEPLOYS,
            _C.WATCH_DEPLOYS,
            _C.PULL_REQUESTS,
            _C.LAYERS,
            _C.PLACES,
            _C.READ_DRIFTS,
            _C.WATCH_DRIFT,
            _C.PULL_CHECKS,
            _C.REMOVE_LAYERS,
            _C.START_PULL_REQUESTS,
            _C.ANSWER_WORKERS,
            _C.ANSWER_JOBS,
            _C.FORGE,
        ),
        timeout=240,
        invoked_by_events=True,
    ),
    FunctionSpec("claim_deployment", "Claims the next deployment of a queue", (_C.QUEUES, _C.ANNOUNCE, _C.ROUNDS)),
    FunctionSpec(
        "validate_revision",
        "Compares a revision with the deployed one",
        (_C.QUEUES, _C.MANY_DEPLOYMENTS, _C.READ_CHANGE_SETS, _C.READ_CATALOG, _C.ANNOUNCE, _C.FORGE),
    ),
    FunctionSpec(
        "record_outcome", "Ends a deployment in its queue", (_C.QUEUES, _C.JOBS, _C.AUDIT, _C.ANNOUNCE, _C.ASK_GATES)
    ),
    FunctionSpec("wait_for_signal", "Leaves a worker's token at its queue", (_C.HEADS, _C.ANSWER_WORKERS)),
    FunctionSpec("close_worker", "Closes the worker of a quiet queue", (_C.HEADS,)),
    FunctionSpec(
        "hand_over_worker", "Starts a worker's next generation", (_C.HEADS, _C.START_DEPLOYS, _C.ANSWER_WORKERS)
    ),
    FunctionSpec(
        "begin_job",
        "Creates a job, an apply only with its audit message",
        (
            _C.DEPLOYMENTS,
            _C.MANY_DEPLOYMENTS,
            _C.READ_CHANGE_SETS,
            _C.JOBS,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.FORGE_ADDRESS,
        ),
    ),
    FunctionSpec("hand_over_job", "Leaves a job's tokens to its runner", (_C.READ_DEPLOYMENTS, _C.JOBS, _C.FORGE)),
    FunctionSpec("record_plan", "Stores a plan and decides what it needs", (_C.DEPLOYMENTS, _C.ANNOUNCE)),
    FunctionSpec(
        "judge_plan",
        "Decides what a plan needs that was held against policies",
        (_C.DEPLOYMENTS, _C.READ_PULL_REQUESTS, _C.ANNOUNCE, _C.FORGE),
    ),
    FunctionSpec(
        "wait_at_gate",
        "Lets a deployment wait for others of its change",
        (_C.DEPLOYMENTS, _C.MANY_DEPLOYMENTS, _C.READ_CHANGE_SETS, _C.ANNOUNCE, _C.ASK_GATES, _C.ANSWER_JOBS),
    ),
    FunctionSpec(
        "open_gates",
        "Opens the gates of a change at which nothing is waited for any more",
        (
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.ASK_GATES,
            _C.START_DEPLOYS,
            _C.ANSWER_WORKERS,
            _C.ANSWER_JOBS,
        ),
    ),
    FunctionSpec("request_review", "Asks people to review a plan", (_C.DEPLOYMENTS, _C.ANNOUNCE, _C.ANSWER_JOBS)),
    FunctionSpec("record_result", "Records how a deployment ended", (_C.DEPLOYMENTS, _C.JOBS, _C.AUDIT, _C.ANNOUNCE)),
    FunctionSpec(
        "discover_pull_request",
        "Finds the roots that a pull request changes",
        (
            _C.PULL_REQUESTS,
            _C.LAYERS,
            _C.PULL_CHECKS,
            _C.REMOVE_LAYERS,
            _C.READ_ORGANIZATION,
            _C.STORE_POLICIES,
            _C.PLAN_REVIEW,
            _C.CHECK_RUN_QUEUE,
            _C.FORGE,
        ),
        timeout=300,
        memory=2048,
        image="discover_roots",
    ),
    FunctionSpec(
        "begin_speculation",
        "Creates the job of a speculative plan",
        (_C.LAYERS, _C.PLACES, _C.SPECULATION_JOBS, _C.CHECK_RUN_QUEUE, _C.FORGE_ADDRESS),
    ),
    FunctionSpec(
        "wait_for_place", "Lets a speculative plan wait for others", (_C.READ_LAYERS, _C.PLACES, _C.CHECK_RUN_QUEUE)
    ),
    FunctionSpec(
        "record_speculation", "Records what a speculative plan came to", (_C.LAYERS, _C.PLACES, _C.CHECK_RUN_QUEUE)
    ),
    FunctionSpec(
        "check_policies",
        "Holds a plan against the policies",
        (_C.LAYERS, _C.DEPLOYMENTS, _C.CHECK_POLICIES, _C.CHECK_RUN_QUEUE),
        # All sets of a plan one after the other; a large plan takes much memory and its time (docs/policies.md).
        timeout=300,
        memory=3008,
        image="check_policies",
    ),
    FunctionSpec(
        "publish_pull_request",
        "Has what is known of a pull request shown",
        (_C.READ_PULL_REQUESTS, _C.CHECK_RUN_QUEUE),
    ),
    FunctionSpec(
        "discover_drift",
        "Finds the roots that are looked at for drift",
        (
            _C.DRIFTS,
            _C.SCHEDULE_DRIFT,
            _C.WATCH_DRIFT,
            _C.LAYERS,
            _C.PULL_CHECKS,
            _C.READ_CATALOG,
            _C.READ_ORGANIZATION,
            _C.PLAN_REVIEW,
            _C.FORGE,
        ),
        timeout=300,
        memory=2048,
        image="discover_roots",
    ),
    FunctionSpec(
        "conclude_drift",
        "Keeps and shows what was looked at for drift",
        (
            _C.DRIFTS,
            _C.LAYERS,
            _C.REMOVE_LAYERS,
            _C.MANY_DEPLOYMENTS,
            _C.PULL_CHECKS,
            _C.DELIVERIES,
            _C.SEND_EVENTS,
            _C.TELL_BUS,
            _C.FORGE,
        ),
    ),
)


class Functions(Construct):
    """All functions by name, each with its own role and log group."""

    def __init__(self, scope: Construct, construct_id: str, *, layers: Layers, undelivered: sqs.IQueue) -> None:
        super().__init__(scope, construct_id)
        self._layers = layers
        self._undelivered = undelivered
        self.by_name: Mapping[str, lambda_.Function] = {spec.name: self._function(spec) for spec in SPECS}

    def _function(self, spec: FunctionSpec) -> lambda_.Function:
        place = Construct(self, spec.id)
        role = iam.Role(
            place,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"The function {spec.name}",
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
        return function

    def _zip(self, place: Construct, spec: FunctionSpec, role: iam.Role, log_group: logs.LogGroup) -> lambda_.Function:
        return lambda_.Function(
            place,
            "Resource",
            description=spec.description,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
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
        )

    def _image(
        self, place: Construct, spec: FunctionSpec, role: iam.Role, log_group: logs.LogGroup
    ) -> lambda_.Function:
        code = lambda_.DockerImageCode.from_image_asset(
            str(ROOT),
            file=f"functions/{spec.image}/Dockerfile",
            build_args={"FUNCTION": spec.name},
            cmd=["handler.lambda_handler"],
            platform=ecr_assets.Platform.LINUX_ARM64,
            exclude=FUNCTION_CONTEXT.exclude,
            ignore_mode=FUNCTION_CONTEXT.ignore_mode,
        )
        return lambda_.DockerImageFunction(
            place,
            "Resource",
            description=spec.description,
            architecture=ARCHITECTURE,
            code=code,
            role=role,
            log_group=log_group,
            timeout=Duration.seconds(spec.timeout),
            memory_size=spec.memory,
            tracing=lambda_.Tracing.ACTIVE,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
        )

    def _layers_of(self, spec: FunctionSpec) -> Sequence[lambda_.LayerVersion]:
        return [self._layers.core, self._layers.third_party] if spec.third_party else [self._layers.core]

"""Function permissions in named bundles, and their policy statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from aws_cdk import Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from tidegate_cdk.identity import IdentityKeys
from tidegate_cdk.messaging import Messaging
from tidegate_cdk.schedules import Schedules
from tidegate_cdk.settings import Settings
from tidegate_cdk.storage import Storage

#: Job ids of speculative plans, in ARNs: no other job's id ends like this.
SPECULATIVE_ATTEMPTS = ("*-speculate-?", "*-speculate-??")
#: Those of deployments' plans.
PLANS = ("*-plan-?", "*-plan-??")


class Capability(Enum):
    """Something that a function may do."""

    QUEUES = "enqueue, move and dequeue deployments"
    READ_QUEUES = "read queues"
    MANY_QUEUES = "read the heads of many queues in one request"
    HEADS = "read queues and change their heads"
    MANY_DEPLOYMENTS = "read many deployments in one request"
    DEPLOYMENTS = "read and write deployments"
    READ_DEPLOYMENTS = "read deployments"
    CHANGE_SETS = "read and write the members of a change"
    READ_CHANGE_SETS = "read the members of a change"
    WAVES = "read and write how stacks of a change are rolled out"
    PULL_REQUESTS = "read and write the records of pull requests"
    READ_PULL_REQUESTS = "read the records of pull requests"
    PLAN_SLOTS = "assign concurrency slots to plans of pull requests, and resume plans that wait for one"
    READ_PLAN_SLOTS = "read which plans of pull requests and which deployments wait for a slot"
    SLOTS = "acquire and release concurrency slots, and request the assignment of free ones"
    SPECULATIVE_PLANS = "read and write speculative plans"
    READ_SPECULATIVE_PLANS = "read speculative plans"
    PULL_REQUEST_CHECKS = "read and write the ids of pull requests' check runs"
    REMOVE_SPECULATIVE_PLANS = "delete speculative plans and their artifacts"
    DRIFTS = "read and write drift schedules' records"
    READ_DRIFTS = "read drift schedules' records"
    COUNT = "count ended deployments in the figures of their day"
    COUNT_DRIFT = "read and write the figures of days"
    READ_INSIGHTS = "read the figures of days"
    SCHEDULE_DRIFT = "create, update and delete drift schedules"
    REMOVE_SCHEDULES = "delete drift schedules"
    START_DRIFT = "start drift executions"
    FIND_DRIFT_EXECUTIONS = "check whether drift executions are running"
    SPECULATIVE_PLAN_JOBS = "read and write the jobs of speculative plans"
    READ_REPOSITORY_INDEX = "list repositories, their roots and their deployments"
    REPOSITORIES = "list repositories"
    REPOSITORY_INDEX = "read and write repositories, their roots and their deployments"
    JOBS = "read and write jobs"
    READ_JOBS = "read jobs and the logs of running ones"
    DELIVERIES = "read and write deliveries"
    SIGN_OUTS = "end sessions of the web pages"
    OPEN_DEPLOYMENTS = "list open work"
    SEND_EVENTS = "send events to the discovery and action queues"
    SEND_TO_DISCOVERY = "send events to the discovery queue"
    PUBLISH_CHANGES = "publish to the event bus and the check-run queue"
    PUBLISH_EVENTS = "publish to the event bus"
    EVALUATE_GATES = "request a check of a change's gates"
    AUDIT = "publish audit messages"
    START_DEPLOYS = "start deploy executions"
    FIND_DEPLOY_EXECUTIONS = "check whether deploy executions are running"
    START_PULL_REQUESTS = "start, stop and find pull-request executions"
    ANSWER_SPECULATIVE_PLANS = "fail task tokens of pull-request executions"
    ANSWER_WORKERS = "complete task tokens of deploy executions"
    ANSWER_JOBS = "complete task tokens of terraform executions"
    READ_ARTIFACTS = "read plans and logs"
    READ_ORGANIZATION = "read the organization-wide configuration file"
    STORE_POLICIES = "store policies, and read those of the organization"
    CHECK_POLICIES = "read stored policies and JSON plans"
    PLAN_REVIEW = "know the default of plan_review"
    COMMENT_PREFIXES = "know the prefixes of comment commands"
    RUNNER_SIZES = "know the sizes and limits of runners"
    ROUNDS = "know the working time of a deploy execution"
    FORGE_ADDRESS = "know the URLs of the VCS provider"
    DISCOVERY_QUEUE = "delay messages of the discovery queue"
    ACTION_QUEUE = "delay messages of the action queue"
    CHECK_RUN_QUEUE = "request check runs, and delay messages of the check-run queue"
    POSITIONS = "read and write published queue positions"
    READ_POSITIONS = "read published queue positions"
    POSITION_QUEUES = "request a refresh of queue positions"
    FORGE = "call the VCS provider's API as the App"
    STOP_RUNNERS = "stop the runners of abandoned jobs"
    PLAN_RUNNERS = "read and write which roots plan on Fargate if plans start on Lambda"
    START_PLANS = "invoke the functions that run plans"
    LIST_RUNNERS = "list the tasks of runners"
    SIGN_TOKENS = "sign the tokens of jobs"
    PUBLIC_KEYS = "publish the keys that verify jobs' tokens"
    UPDATES = "read and write the records of config repositories"
    READ_UPDATES = "read the records of config repositories"
    START_UPDATES = "start config-update and promotion executions"
    FIND_UPDATE_EXECUTIONS = "check whether config-update and promotion executions are running"
    ANSWER_UPDATES = "complete task tokens of config-update and promotion executions"
    IMAGE_SETS = "store and read announced image sets"
    REPLAY_ORDERS = "store what a replay makes, and read announced image sets"
    REPLAY_RESULTS = "read what a replay has made"
    CLUSTERS = "read and write the records of clusters"
    READ_CLUSTERS = "read the records of clusters"
    CLUSTER_PLANS = "read the plans of clusters"
    CLUSTER_TASKS = "store what tasks of clusters do, and read what they have done"
    CLUSTER_FUNCTIONS = "know the functions that hooks of clusters may call"
    START_CLUSTER_ERRORS = "start executions that handle the errors of cluster workflows"
    FIND_CLUSTER_EXECUTIONS = "check whether executions of cluster workflows are running"
    ANSWER_CLUSTER_TASKS = "fail task tokens of cluster tasks"
    UPDATE_LIMITS = "know what config updates may wait for, ask, and believe"
    OPERATORS = "know the operators' team"
    NOTIFICATIONS = "read who is notified of what, and read and write notifications"
    READ_NOTIFICATIONS = "read notifications"
    SUBSCRIPTIONS = "store who is notified of what"
    NOTIFY = "send notifications, with texts of plans, to the destinations of the installation"
    SLACK = "verify clicks on buttons in Slack, and know whom its users act for"
    SET_UP = "create the secrets of the App, once, with the one-time code"
    WEBHOOK_SECRET = "know the webhook's secrets"  # noqa: S105  # A description.


@dataclass(frozen=True, slots=True)
class Grant:
    """Permissions, and the environment variables that name their resources."""

    statements: tuple[iam.PolicyStatement, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlanFunctionArns:
    """The functions that run plans on Lambda: their versions, and their size."""

    versions: tuple[str, ...]
    size: str


@dataclass(frozen=True, slots=True)
class GrantContext:
    """The resources of capabilities."""

    stack: Stack
    settings: Settings
    storage: Storage
    messaging: Messaging
    deploy_machine: str
    terraform_machine: str
    pull_request_machine: str
    drift_machine: str
    config_update_machine: str
    promotion_machine: str
    schedules: Schedules
    cluster: ecs.ICluster
    plan_functions: PlanFunctionArns | None
    web_url: str
    webhook_url: str
    identity: IdentityKeys


def allow(*actions: str, on: str, under: Mapping[str, object] | None = None) -> iam.PolicyStatement:
    """Return a statement that allows actions on one resource."""
    return iam.PolicyStatement(actions=list(actions), resources=[on], conditions=under)


def on_records(table: str, kinds: tuple[str, ...], *actions: str) -> iam.PolicyStatement:
    """Return a statement on the items of a table whose partition keys begin with one of ``kinds`` and ``#``."""
    keys = {"dynamodb:LeadingKeys": [f"{kind}#*" for kind in kinds]}
    return allow(*actions, on=table, under={"ForAllValues:StringLike": keys})


def on_jobs(table: str, kind: str, *actions: str, digits: int = 2) -> iam.PolicyStatement:
    """Return a statement on the items of jobs of one kind: their ids end in the kind and a number of some digits."""
    keys = {"dynamodb:LeadingKeys": [f"job#*-{kind}-{'?' * each}" for each in range(1, digits + 1)]}
    return allow(*actions, on=table, under={"ForAllValues:StringLike": keys})


def tell_missing(bucket: str, *prefixes: str) -> iam.PolicyStatement:
    """Return the permission with which S3 answers 404 for a missing object instead of 403.

    A request for an object has no ``s3:prefix``, so the condition must hold without one.
    """
    return allow("s3:ListBucket", on=bucket, under={"StringLikeIfExists": {"s3:prefix": list(prefixes)}})

"""What functions may do, in named bundles, and the statements that rights are made of."""

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

#: The ids of jobs of speculative plans, in ARNs: no other job's id ends so.
SPECULATIVE_ATTEMPTS = ("*-speculate-?", "*-speculate-??")
#: Those of deployments' plans.
PLANS = ("*-plan-?", "*-plan-??")


class Capability(Enum):
    """Something that a function may do."""

    QUEUES = "take, move and put deployments in the queues"
    READ_QUEUES = "read queues"
    MANY_QUEUES = "read the heads of many queues at once"
    HEADS = "read queues and change their heads"
    MANY_DEPLOYMENTS = "read many deployments at once"
    DEPLOYMENTS = "read and write deployments"
    READ_DEPLOYMENTS = "read deployments"
    CHANGE_SETS = "read and write which deployments belong to a change"
    READ_CHANGE_SETS = "read which deployments belong to a change"
    PULL_REQUESTS = "read and write the records of pull requests"
    READ_PULL_REQUESTS = "read the records of pull requests"
    PLACES = "give plans of pull requests their places, and wake what waits for one"
    READ_PLAN_SLOTS = "read which plans of pull requests wait for a place, and who waits for a concurrency slot"
    SLOTS = "take and give back concurrency slots, and ask for free ones to be handed on"
    LAYERS = "read and write temporary layers"
    READ_LAYERS = "read temporary layers"
    PULL_CHECKS = "remember which check runs of pull requests were made"
    REMOVE_LAYERS = "remove temporary layers and their plans"
    DRIFTS = "read and write the records of schedules that look for drift"
    READ_DRIFTS = "read the records of schedules that look for drift"
    SCHEDULE_DRIFT = "create, change and remove schedules that look for drift"
    REMOVE_SCHEDULES = "remove schedules that look for drift"
    START_DRIFT = "start executions that look for drift"
    WATCH_DRIFT = "look whether executions that look for drift run"
    SPECULATIVE_PLAN_JOBS = "read and write the jobs of speculative plans"
    READ_REPOSITORY_INDEX = "list repositories, their roots and their deployments"
    REPOSITORIES = "list repositories"
    CATALOG = "remember repositories, and list them, their roots and their deployments"
    JOBS = "read and write jobs"
    READ_JOBS = "read jobs and the logs of running ones"
    DELIVERIES = "read and write deliveries"
    SIGN_OUTS = "end sessions of the web pages"
    OPEN_INDEX = "list what is not done yet"
    SEND_EVENTS = "put events on the discovery and action queues"
    SEND_PUSHES = "put events on the push queue"
    ANNOUNCE = "tell the bus and the check-run queue"
    PUBLISH_EVENTS = "tell the bus"
    ASK_GATES = "have the gates of a change looked at"
    AUDIT = "publish audit messages"
    START_DEPLOYS = "start deploy executions"
    WATCH_DEPLOYS = "look whether deploy executions run"
    START_PULL_REQUESTS = "start and stop executions for pull requests, and look whether they run"
    ANSWER_SPECULATIVE_PLANS = "fail the tokens of executions for pull requests"
    ANSWER_WORKERS = "answer the tokens of deploy executions"
    ANSWER_JOBS = "answer the tokens of terraform executions"
    READ_ARTIFACTS = "read plans and logs"
    READ_ORGANIZATION = "read the organization-wide configuration file"
    STORE_POLICIES = "store policies, and read those of the organization"
    CHECK_POLICIES = "read stored policies, and plans in the form of JSON"
    PLAN_REVIEW = "know which plans wait for people where no configuration says so"
    COMMENT_PREFIXES = "know the words that comments begin with"
    RUNNER_SIZES = "know how large runners are, and may be"
    ROUNDS = "know how long a deploy execution works"
    FORGE_ADDRESS = "know where the forge is"
    PUSH_QUEUE = "know the push queue, to put a message off"
    ACTION_QUEUE = "know the action queue, to put a message off"
    CHECK_RUN_QUEUE = "ask for check runs, and put a message off"
    LINES = "read and write what is shown of lines"
    READ_POSITIONS = "read what is shown of lines"
    POSITION_QUEUES = "have a line looked at again"
    FORGE = "speak with the forge as the App"
    STOP_RUNNERS = "stop the runners of jobs that were given up"
    PLAN_RUNNERS = "know and remember which roots' plans run on Fargate, where plans begin on Lambda"
    START_PLANS = "call the functions that run plans"
    LIST_RUNNERS = "list the tasks of runners"
    SIGN_TOKENS = "sign the tokens of jobs"
    PUBLIC_KEYS = "publish the keys that tokens of jobs are verified with"
    OPERATORS = "know whose members may ask for deployments"
    WEBHOOK_SECRET = "know the webhook's secrets"  # noqa: S105  # A description.


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights and the environment variables that name what they are about."""

    statements: tuple[iam.PolicyStatement, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlanFunctionArns:
    """The functions that run plans, where plans begin on Lambda: their versions, and how large they are."""

    versions: tuple[str, ...]
    size: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What capabilities are about."""

    stack: Stack
    settings: Settings
    storage: Storage
    messaging: Messaging
    deploy_machine: str
    terraform_machine: str
    pull_request_machine: str
    drift_machine: str
    schedules: Schedules
    cluster: ecs.ICluster
    plan_functions: PlanFunctionArns | None
    web_url: str
    identity: IdentityKeys


def allow(*actions: str, on: str, under: Mapping[str, object] | None = None) -> iam.PolicyStatement:
    """Return a statement that allows actions on one resource."""
    return iam.PolicyStatement(actions=list(actions), resources=[on], conditions=under)


def on_records(table: str, kinds: tuple[str, ...], *actions: str) -> iam.PolicyStatement:
    """Return a statement on the items of a table whose partition keys begin with one of ``kinds`` and ``#``."""
    keys = {"dynamodb:LeadingKeys": [f"{kind}#*" for kind in kinds]}
    return allow(*actions, on=table, under={"ForAllValues:StringLike": keys})


def on_jobs(table: str, kind: str, *actions: str) -> iam.PolicyStatement:
    """Return a statement on the items of jobs of one kind: their ids end in the kind and a number to 99."""
    keys = {"dynamodb:LeadingKeys": [f"job#*-{kind}-?", f"job#*-{kind}-??"]}
    return allow(*actions, on=table, under={"ForAllValues:StringLike": keys})


def tell_missing(bucket: str, *prefixes: str) -> iam.PolicyStatement:
    """Return what makes S3 answer 404 for an object that is missing, where it would answer 403 otherwise.

    A request for an object carries no ``s3:prefix``, so the condition has to hold without one.
    """
    return allow("s3:ListBucket", on=bucket, under={"StringLikeIfExists": {"s3:prefix": list(prefixes)}})

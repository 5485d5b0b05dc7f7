"""Functions as Lambda loads them, each from its own file, on a wiring whose adapters keep everything in memory."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.fakes import (
    MemoryAnnouncements,
    MemoryArtifacts,
    MemoryAuditLog,
    MemoryCatalog,
    MemoryCheckRuns,
    MemoryClock,
    MemoryDeliveries,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryDriftEvents,
    MemoryDriftRuns,
    MemoryDrifts,
    MemoryEventQueue,
    MemoryForge,
    MemoryForgeDeliveries,
    MemoryIssues,
    MemoryJobs,
    MemoryOrganizationFile,
    MemoryPlanFunctions,
    MemoryPlanPlaces,
    MemoryPullRequestChecks,
    MemoryPullRequests,
    MemoryRunners,
    MemorySchedules,
    MemoryTemporaryLayers,
    MemoryWorkflows,
)
from tests.fakes.change_sets import MemoryChangeSets
from tests.fakes.lines import MemoryLineBoards
from tests.fakes.redeliveries import MemoryRedeliveries
from tidegate import bootstrap
from tidegate.bootstrap import Bootstrap
from tidegate.bootstrap.table import QUEUES, RULES, STEPS

ARN = "arn:aws:sqs:eu-central-1:123456789012:"
FUNCTIONS = Path(__file__).parents[2] / "functions"
#: The variables with the URLs of queues, by what the rights of who takes from them are named.
VARIABLES = {queue.name: variable for queues in QUEUES.values() for variable, queue in queues.items()}
#: What the rights of each function are for: its steps, its queues and its rules.
VERBS = {
    function: {
        *STEPS.get(function, ()),
        *(queue.name for queue in QUEUES.get(function, {}).values()),
        *(rule.name for rule in RULES.get(function, {}).values()),
    }
    for function in {**STEPS, **QUEUES, **RULES}
}
DEPLOY_MACHINE = "arn:aws:states:eu-central-1:123456789012:stateMachine:deploy"


class MemoryPatience:
    """Remembers what was postponed: queue, receipt, seconds."""

    def __init__(self):
        self.postponed = []

    def postpone(self, queue, receipt, seconds):
        self.postponed.append((queue, receipt, seconds))


class MemoryBootstrap(Bootstrap):
    """The use cases as they are wired, on adapters in memory."""

    def __init__(self):
        super().__init__(
            {
                "TIDEGATE_ARTIFACT_BUCKET": "artifacts",
                "TIDEGATE_DEPLOY_STATE_MACHINE": DEPLOY_MACHINE,
                "TIDEGATE_EVENT_BUS": "bus",
                "TIDEGATE_CHANGE_QUEUE": "https://sqs.example/changes.fifo",
                "TIDEGATE_CHECK_RUN_QUEUE": "https://sqs.example/check-runs.fifo",
                "TIDEGATE_LINE_QUEUE": "https://sqs.example/lines.fifo",
                "TIDEGATE_LINE_LATER_QUEUE": "https://sqs.example/later-lines",
                "TIDEGATE_PULL_REQUEST_PLANS": "1",
                "TIDEGATE_RUNNER_SLOTS": "100",
                "TIDEGATE_ACTION_QUEUE": "https://sqs.example/presses",
                "TIDEGATE_PUSH_QUEUE": "https://sqs.example/pushes",
            }
        )
        self.deployments = MemoryDeployments()
        self.queues = MemoryDeployQueues(self.deployments)
        self.catalog = MemoryCatalog(self.deployments, self.queues)
        self.check_runs, self.pull_check_runs = MemoryCheckRuns(), MemoryCheckRuns()
        self.line_boards = MemoryLineBoards()
        self.change_sets = MemoryChangeSets()
        self.jobs = MemoryJobs()
        self.pull_requests, self.temporary_layers = MemoryPullRequests(), MemoryTemporaryLayers()
        self.plan_places, self.plan_functions = MemoryPlanPlaces(), MemoryPlanFunctions()
        self.checks_of_pull_requests = MemoryPullRequestChecks()
        self.deliveries = MemoryDeliveries()
        self.forge_deliveries, self.redeliveries = MemoryForgeDeliveries(), MemoryRedeliveries()
        self.events = MemoryEventQueue()
        self.announcements = MemoryAnnouncements()
        self.audit = MemoryAuditLog()
        self.artifacts = MemoryArtifacts()
        self.organization_file = MemoryOrganizationFile()
        self.workflows, self.drift_runs, self.runners = MemoryWorkflows(), MemoryDriftRuns(), MemoryRunners()
        self.drifts, self.schedules = MemoryDrifts(), MemorySchedules()
        self.drift_events, self.issues = MemoryDriftEvents(), MemoryIssues()
        self.clock = MemoryClock()
        self.patience = MemoryPatience()
        self.forge = self.addresses = MemoryForge(writers={"reviewer"})

    @property
    def pull_request_checks(self):
        return self.checks_of_pull_requests


@dataclass
class Context:
    """What Lambda tells a function about its call."""

    function_name: str = "function"
    aws_request_id: str = "request-1"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:function"
    identity: dict = field(default_factory=dict)


@cache
def handler_of(function):
    """Return the module of a function's handler."""
    path = FUNCTIONS / function / "handler.py"
    spec = importlib.util.spec_from_file_location(f"functions_{function}_handler", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(verb, event):
    """Call the function that has a verb, with a message of its kind, or with what comes by its queue."""
    return call_function(next(name for name, verbs in VERBS.items() if verb in verbs), _for(verb, event))


def call_function(function, event):
    """Call a function with an event as it is."""
    return handler_of(function).lambda_handler(event, Context())


def _for(verb, event):
    if "Records" in event:
        arn = ARN + bootstrap.wiring().environ[VARIABLES[verb]].rpartition("/")[2]
        return {"Records": [{**record, "eventSourceARN": arn} for record in event["Records"]]}
    return event if "detail-type" in event or verb == "answer_request" else {"kind": verb, **event}


def sqs_event(*bodies, group=None, receives=1):
    """Return the event that SQS gives a function; ``group`` names the message group of each body of a FIFO queue."""
    return {
        "Records": [
            {
                "messageId": f"message-{number}",
                "receiptHandle": f"receipt-{number}",
                "body": body,
                "attributes": {
                    "ApproximateReceiveCount": str(receives),
                    **({"MessageGroupId": group[number]} if group else {}),
                },
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": f"{ARN}queue",
                "awsRegion": "eu-central-1",
            }
            for number, body in enumerate(bodies)
        ]
    }


def failures(answer):
    """Return the messages that SQS is to deliver again."""
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

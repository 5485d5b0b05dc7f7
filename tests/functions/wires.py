"""Functions as Lambda loads them, each from its own file, on a wiring whose adapters keep everything in memory."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.fakes.ports import ENVIRONMENT, changed, memory_ports
from tidegate import bootstrap
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
DEPLOY_MACHINE = ENVIRONMENT["TIDEGATE_DEPLOY_STATE_MACHINE"]


class MemoryVisibility:
    """Remembers what was postponed: queue, receipt, seconds."""

    def __init__(self):
        self.postponed = []

    def postpone(self, queue, receipt, seconds):
        self.postponed.append((queue, receipt, seconds))


class Wires:
    """The ports of functions, all in memory, at hand by their names."""

    def __init__(self, settings=None, **given):
        self.ports = memory_ports(settings, visibility=MemoryVisibility(), **given)

    def put(self, settings=None, **given):
        """Put other ports, or other settings, in place."""
        self.ports = changed(self.ports, settings, **given)
        bootstrap.use(self.ports)

    def __getattr__(self, name):
        return getattr(self.ports, name)


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

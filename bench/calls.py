"""How often a deploy goes to DynamoDB, when nothing else wants the same items.

Counted are the calls of the deploy workflow on the queue's items, from the time at which a deployment is enqueued until
its outcome is recorded, by a worker that was waiting. Each call is put down to the most important of the items that it
names; what the deployment's own record, its jobs and its check run take is told beside it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from bench.deploys import Bench
from bench.lines import Line

TARGET = 8
#: Kinds of items, the most important first; a transaction counts for the first of its kinds.
_KINDS = ("queue", "deployment", "job", "line", "delivery", "repository")
#: What is no part of the workflow: the webhook stores deliveries, check runs and positions in queues are projections.
_BESIDE = ("runnersplan", "runnersapply", "webhook", "reconcile", "api", "check-run", "line")
#: The task that finishes a deployment in its queue.
_LAST = "record_outcome"


def run(measured: Bench) -> Line:
    """Deploy once, and return the line: calls that name the queue's items, against all calls of the deploy."""
    began = time.time()
    measured.whole("data")
    calls = [call for call in measured.cloud.read("calls") if call["at"] >= began]
    dynamodb = [call for call in calls if call["call"].startswith("dynamodb:") and "Engine" not in call["role"]]
    finished = max(call["at"] for call in dynamodb if call["task"] == _LAST)
    by_kind = Counter(_kind(call) for call in dynamodb if _is_workflow(call) and call["at"] <= finished)
    more = {
        "baseline": "all DynamoDB calls of the deploy, those of runners, webhooks and check runs included",
        "counted": "the workflow's calls on the queue's items; by_kind has its other calls",
        "by_kind": dict(by_kind),
        "by_task": dict(Counter(call["task"] or _role(call) for call in dynamodb)),
    }
    return Line(
        "deploy_queue_calls", by_kind["queue"], len(dynamodb), target=TARGET, compared="median", unit="calls", more=more
    )


def _is_workflow(call: Mapping[str, Any]) -> bool:
    who = f"{_role(call)} {call['task']}".lower()
    return not any(name in who for name in _BESIDE)


def _role(call: Mapping[str, Any]) -> str:
    return str(call["role"]).rpartition("/")[2]


def _kind(call: Mapping[str, Any]) -> str:
    named = {str(item).partition("#")[0] for item in call["items"]}
    return next((kind for kind in _KINDS if kind in named), "other")

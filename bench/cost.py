"""What one deploy costs: its DynamoDB calls, state transitions and billed units, counted and priced.

Counted on the local cloud for a deploy with a review, from the webhook until the queue's worker waits again.
Left out: what depends on how long things take on AWS beyond the minimum (a runner's seconds after its first
minute) and what is billed by the month (storage, alarms, the secrets).
"""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.deploys import Bench, Deployed, history
from bench.lines import Line
from bench.queues import until

#: USD in us-east-1, ARM. Fargate bills a minute at least; a Lambda millisecond is 1/1000 of a GB-second's at 1 GB.
PRICES = {
    "fargate_vcpu_hours": 0.03238,
    "fargate_gb_hours": 0.00356,
    "state_transitions": 0.025 / 1000,
    "dynamodb_write_units": 0.625 / 1e6,
    "dynamodb_read_units": 0.125 / 1e6,
    "lambda_requests": 0.20 / 1e6,
    "lambda_gb_seconds": 0.0000133334,
    "http_api_requests": 1.0 / 1e6,
    "s3_writes": 0.005 / 1000,
    "s3_reads": 0.0004 / 1000,
    "sqs_requests": 0.40 / 1e6,
    "sns_publishes": 0.50 / 1e6,
    "events_published": 1.0 / 1e6,
    "secrets_requests": 0.05 / 10_000,
    "log_gb": 0.50,
}
#: Fewer units are billed than this for no item, and no item of a deploy that is gone afterwards is larger.
_GONE_ITEM_BYTES = 1024
_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})
_REPORT = re.compile(r"REPORT .*Duration: ([\d.]+) ms\tMemory Size: (\d+) MB")
#: A deploy on AWS takes no less than the minute that Fargate bills for each of its two tasks.
_FARGATE_MINIMUM_HOURS = 1 / 60


@dataclass(frozen=True, slots=True)
class Cost:
    """Billed units by name, and how often each DynamoDB call was made."""

    units: Mapping[str, float]
    dynamodb_calls: Mapping[str, int]

    @property
    def usd(self) -> float:
        return sum(PRICES[name] * amount for name, amount in self.units.items())


def run(measured: Bench) -> Line:
    """Deploy once, count, and return the line: the cost against the tasks' own, which nothing can avoid.

    Secrets and tokens are kept while functions are warm, so a first deploy makes a few calls more.
    """
    began = time.time()
    deployed = measured.whole("data")
    until(lambda: all("stoppedAt" in task for task in measured.cloud.read("tasks")), "waiting for all runners to end")
    cost = count(measured, deployed, began)
    runners = sum(PRICES[name] * amount for name, amount in cost.units.items() if name.startswith("fargate"))
    amounts = {
        name: {"units": round(units, 6), "usd": round(PRICES[name] * units, 8)} for name, units in cost.units.items()
    }
    more = {"billed": amounts, "dynamodb_calls": dict(cost.dynamodb_calls), "baseline": "only the two Fargate tasks"}
    return Line("deploy_cost", cost.usd, runners, target=None, unit="USD", more=more)


def count(measured: Bench, deployed: Deployed, began: float) -> Cost:
    """Return what was billed since ``began`` (epoch seconds)."""
    calls = [call for call in measured.cloud.read("calls") if call["at"] >= began and "Engine" not in call["role"]]
    dynamodb = [call for call in calls if call["call"].startswith("dynamodb:")]
    by_name = Counter(call["call"] for call in calls)
    entered = [event for machine in ("deploy", "terraform") for _, event in history(measured.cloud, machine)]
    functions = list(_invocations(measured, began))
    units = {
        **_tasks(measured, began),
        "state_transitions": sum(_transition(event, began) for event in entered),
        **_dynamodb_units(dynamodb, _sizes(measured)),
        "lambda_requests": len(functions),
        "lambda_gb_seconds": sum(seconds * gigabytes for seconds, gigabytes in functions),
        "http_api_requests": len(deployed.webhooks),
        "s3_writes": by_name["s3:PutObject"],
        "s3_reads": by_name["s3:GetObject"],
        "sqs_requests": sum(number for name, number in by_name.items() if name.startswith("sqs:")),
        "sns_publishes": by_name["sns:Publish"],
        "events_published": by_name["events:PutEvents"],
        "secrets_requests": by_name["secretsmanager:GetSecretValue"],
        "log_gb": _log_bytes(measured, began) / 1e9,
    }
    return Cost(units, Counter(call["call"].partition(":")[2] for call in dynamodb))


def _transition(event: Mapping[str, Any], began: float) -> bool:
    return str(event["type"]).endswith("StateEntered") and event["timestamp"].timestamp() >= began


def _tasks(measured: Bench, began: float) -> dict[str, float]:
    tasks = [task for task in measured.cloud.read("tasks") if task["createdAt"] >= began]
    hours = [max(_FARGATE_MINIMUM_HOURS, (task["stoppedAt"] - task["createdAt"]) / 3600) for task in tasks]
    sizes = [(int(task["cpu"]) / 1024, int(task["memory"]) / 1024) for task in tasks]
    return {
        "fargate_vcpu_hours": sum(cpu * length for (cpu, _), length in zip(sizes, hours, strict=True)),
        "fargate_gb_hours": sum(memory * length for (_, memory), length in zip(sizes, hours, strict=True)),
    }


def _sizes(measured: Bench) -> dict[str, int]:
    """Return the size of each item of the table, about as DynamoDB measures it: names and values."""
    pages = measured.cloud.client("dynamodb").get_paginator("scan").paginate(TableName=measured.cloud.info["table"])
    return {f"{item['pk']['S']} {item['sk']['S']}": _size(item) for page in pages for item in page["Items"]}


def _size(item: Mapping[str, Any]) -> int:
    return sum(len(name.encode()) + len(json.dumps(next(iter(value.values())))) for name, value in item.items())


def _dynamodb_units(calls: Iterable[Mapping[str, Any]], sizes: Mapping[str, int]) -> dict[str, float]:
    """Count units: a write's of 1 KB, twice in transactions and once more for the index; a read's of 4 KB."""
    written, read = 0.0, 0.0
    for call in calls:
        action = call["call"].partition(":")[2]
        stored = [sizes.get(key, _GONE_ITEM_BYTES) for key in call["items"]] or [_GONE_ITEM_BYTES]
        if action in _WRITES:
            factor = 2 if action == "TransactWriteItems" else 1
            indexed = sum(key.endswith("#head") or key.startswith("delivery#") for key in call["items"])
            written += factor * sum(math.ceil(size / 1024) for size in stored) + indexed
        else:
            read += sum(math.ceil(size / 4096) for size in stored)
    return {"dynamodb_write_units": written, "dynamodb_read_units": read}


def _log_events(measured: Bench, began: float) -> Iterable[str]:
    client = measured.cloud.client("logs")
    for group in measured.cloud.info["log_groups"].values():
        for event in client.filter_log_events(logGroupName=group, startTime=int(began * 1000))["events"]:
            yield event["message"]


def _log_bytes(measured: Bench, began: float) -> int:
    return sum(len(message.encode()) for message in _log_events(measured, began))


def _invocations(measured: Bench, began: float) -> Iterable[tuple[float, float]]:
    """Yield each invocation's seconds and gigabytes, as its function's log reports them."""
    for message in _log_events(measured, began):
        found = _REPORT.match(message)
        if found:
            yield float(found.group(1)) / 1000, int(found.group(2)) / 1024

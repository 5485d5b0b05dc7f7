"""Plans that begin on Lambda: what runs there now, and what goes wrong there alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from soak.harness import Harness
from soak.plan_rules import FARGATE
from soak.work import Event

#: With this variable a plan on Lambda has less time than thirteen minutes (``runner/on_lambda.py``).
_TRIAL_SECONDS = "TIDEGATE_TRIAL_PLAN_SECONDS"
#: Plans that take longer move to Fargate. A plan takes a few seconds, on a busy machine twenty.
SECONDS = 40
#: How long the engine of a plan that is too slow waits for its backend.
_TOO_SLOW = 60
#: A call comes a second time that was one of so many last ones.
_RECENT = 6
#: What a runner on Lambda calls in the order in which it does: it may die at each.
_CALLS = ("states:*", "dynamodb:UpdateItem", "s3:PutObject", "dynamodb:*")

Call = Mapping[str, Any]


def context(runner: str) -> dict[str, str]:
    """Return the context in which plans begin on this runner."""
    return {} if runner == FARGATE else {"plan_runner": runner}


def environment(runner: str) -> dict[str, str]:
    """Return what functions are told besides."""
    return {} if runner == FARGATE else {_TRIAL_SECONDS: str(SECONDS)}


def calls(harness: Harness) -> list[Call]:
    """Return all calls of functions that plan, oldest first."""
    return [{**call, "event": json.loads(call["event"])} for call in harness.cloud.read("tenants")]


def job_of(task: Mapping[str, Any]) -> str | None:
    """Return the job that a task was started for."""
    containers = task["overrides"].get("containerOverrides", [])
    variables = [each for container in containers for each in container.get("environment", [])]
    return next((str(each["value"]) for each in variables if each["name"] == "TIDEGATE_JOB"), None)


def under_way(harness: Harness) -> list[Call]:
    """Return the calls that have not ended."""
    return [call for call in calls(harness) if call["ended"] is None]


def plan_is_killed_on_lambda(harness: Harness) -> str | None:
    """Kill what plans on Lambda just now: a function's memory is full, or its machine is gone."""
    running = under_way(harness)
    if not running:
        return None
    harness.cloud.kill_function(running[-1]["function"])
    return str(running[-1]["event"]["job"])


def plan_dies_on_lambda(harness: Harness) -> str:
    """Let a plan on Lambda die at one of its next calls, before or after that took effect."""
    service, _, action = harness.chance.choice(_CALLS).partition(":")
    when, skip = harness.chance.choice(("before", "after")), harness.chance.randint(0, 2)
    harness.cloud.add_fault(
        service=service, action=action, function="*PlanFunction*", when=when, skip=skip, kill=True, times=1
    )
    return f"{when} {service}:{action} {skip + 1}"


def plan_is_too_slow(harness: Harness) -> str:
    """Let an engine wait for its backend longer than Lambda has time: the plan moves to Fargate."""
    harness.cloud.add_fault(service="s3", action="*", role="*PlanEngine*", delay=_TOO_SLOW, times=1)
    return ""


def call_comes_twice(harness: Harness) -> str | None:
    """Call a function again for a job, soon or late: Lambda promises to pass on a call once at least."""
    recent = calls(harness)[-_RECENT:]
    return _call(harness, harness.chance.choice(recent), {}) if recent else None


def call_is_orphaned(harness: Harness) -> str | None:
    """Call a function for a job that does not exist, with a token that nobody waits for."""
    recent = calls(harness)[-1:]
    harness.marks += 1
    return _call(harness, recent[0], {"job": f"nobody-{harness.marks}-plan-1", "token": "nobody"}) if recent else None


def _call(harness: Harness, call: Call, others: Mapping[str, str]) -> str:
    event = {**call["event"], **others}
    harness.cloud.client("lambda").invoke(
        FunctionName=call["function"], InvocationType="Event", TenantId=event["job"], Payload=json.dumps(event).encode()
    )
    return str(event["job"])


def two_weeks_pass(harness: Harness) -> str:
    """Let plans of roots that were too large for Lambda begin there again."""
    table, name = harness.cloud.client("dynamodb"), harness.cloud.info["table"]
    pages = table.get_paginator("scan").paginate(
        TableName=name,
        FilterExpression="begins_with(pk, :kept)",
        ExpressionAttributeValues={":kept": {"S": "runner#"}},
    )
    found = [{"pk": item["pk"], "sk": item["sk"]} for page in pages for item in page["Items"]]
    for key in found:
        table.delete_item(TableName=name, Key=key)
    return f"for {len(found)} roots"


#: What goes wrong besides where plans begin on Lambda, and how often.
TROUBLE_ON_LAMBDA: tuple[tuple[Event, int], ...] = (
    (plan_is_killed_on_lambda, 14),
    (plan_dies_on_lambda, 8),
    (plan_is_too_slow, 3),
    (call_comes_twice, 10),
    (call_is_orphaned, 3),
    (two_weeks_pass, 4),
)

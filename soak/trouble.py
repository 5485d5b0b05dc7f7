"""Random faults: each is a function of the harness that returns what it struck, None when there was nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import jwt
from botocore.exceptions import ClientError

from soak.harness import Harness
from soak.table import reconcile
from soak.work import Event
from tidegate_local.forge.client import ForgeClient

_THROTTLED = ("dynamodb", "sqs", "states", "s3", "events", "lambda", "ecs")
#: How often one publish is tried before it is given up (``tidegate.aws.boto``).
PUBLISH_ATTEMPTS = 5
#: So many applies are not audited, or are cut, one after the other.
_APPLIES = 3
#: A second runner is started for one of so many that were started last.
_RECENT = 6
#: What Tidegate asks of the forge, and the soak itself does not.
_CALLED = (
    ("POST", ".*/access_tokens"),
    ("POST", ".*/check-runs"),
    ("PATCH", ".*/check-runs/[0-9]+"),
    ("GET", ".*/compare/.*"),
    ("POST", "/api/graphql/.*"),
    ("GET", ".*/collaborators/.*"),
)


def webhooks_go_wrong(harness: Harness) -> str:
    """Lose, double or delay the next webhooks, or lose their answers."""
    forge = harness.maintainer
    fault_injections: dict[str, Callable[[str, int], None]] = {
        "lost": forge.lose_webhooks,
        "answers lost": forge.lose_webhook_answers,
        "doubled": forge.duplicate_webhooks,
        "late": lambda event, times: forge.delay_webhooks(event, times, seconds=2),
    }
    kind = harness.chance.choice(sorted(fault_injections))
    times = harness.chance.randint(1, 3)
    fault_injections[kind](harness.chance.choice(("push", "push", "check_run", "*")), times)
    return f"{times} {kind}"


def webhook_comes_again(harness: Harness) -> str | None:
    """Click Redeliver on an old webhook: it comes out of order, under its own GUID."""
    sent = [item for item in _app(harness, "GET", "/app/hook/deliveries?per_page=100") if item["event"] == "push"]
    if not sent:
        return None
    one = harness.chance.choice(sent)
    _app(harness, "POST", f"/app/hook/deliveries/{one['id']}/attempts")
    return str(one["guid"])


def _app(harness: Harness, method: str, path: str) -> list[dict[str, str]]:
    """Call the forge as the owner of the App does."""
    now = int(time.time())
    claims = {"iss": harness.app["app_id"], "iat": now - 60, "exp": now + 300}
    token = jwt.encode(claims, harness.app["private_key"], algorithm="RS256")
    answer: list[dict[str, str]] = ForgeClient(harness.cloud.info["forge_url"], "app", token).call(method, path)
    return answer


def function_is_killed(harness: Harness) -> str:
    """Kill all instances of a function, whatever they are at."""
    name = str(harness.chance.choice(sorted(harness.cloud.info["functions"])))
    harness.cloud.kill_function(harness.cloud.info["functions"][name])
    return name


def function_dies_at_a_call(harness: Harness) -> str:
    """Let a function die at one of its next writes, before or after the write took effect."""
    name = str(harness.chance.choice(sorted(harness.cloud.info["functions"])))
    when = harness.chance.choice(("before", "after"))
    skip = harness.chance.randint(0, 3)
    harness.cloud.add_fault(
        function=harness.cloud.info["functions"][name], when=when, kill=True, writes_only=True, skip=skip
    )
    return f"{name}, {when} write {skip + 1}"


def calls_are_throttled(harness: Harness) -> str:
    """Let the next calls of functions to a service fail, before or after they took effect."""
    service, times = harness.chance.choice(_THROTTLED), harness.chance.randint(1, 5)
    when = harness.chance.choice(("before", "before", "after"))
    error, status = harness.chance.choice((("ThrottlingException", 400), ("InternalServerError", 500)))
    harness.cloud.add_fault(
        service=service, action="*", function="?*", when=when, error=error, status=status, times=times
    )
    return f"{times} times {service}, {when}: {error}"


def audit_fails(harness: Harness) -> str:
    """Let audit messages of any kind fail to be published, before or after the topic took them."""
    times = harness.chance.randint(1, 12)
    when = harness.chance.choice(("before", "after"))
    harness.cloud.add_fault(service="sns", action="Publish", when=when, error="InternalError", status=500, times=times)
    return f"{times} times, {when}"


def audit_is_out(harness: Harness) -> str | None:
    """Let the message that an apply begins not be published, however often it is tried, for the next applies."""
    if _is_to_come(harness) or len(harness.outages) > len(harness.cuts):
        return None
    when = harness.chance.choice(("before", "before", "after"))
    fault = {"service": "sns", "action": "Publish", "parameters": "*:RUNNING*", "error": "InternalError", "status": 500}
    harness.outages.append(harness.cloud.add_fault(**fault, when=when, times=_APPLIES * PUBLISH_ATTEMPTS))
    return when


def runner_is_killed(harness: Harness) -> str | None:
    """Kill a runner without warning."""
    task = _runner(harness)
    if task:
        harness.cloud.kill_task(task)
    return task


def apply_is_cut(harness: Harness) -> str | None:
    """Let the runners of the next applies die when their engines store a state, before or after that is stored."""
    if _is_to_come(harness) or len(harness.cuts) > len(harness.outages):
        return None
    when = harness.chance.choice(("before", "after"))
    fault = {"service": "s3", "action": "PutObject", "parameters": '*.tfstate"*', "kill": True}
    harness.cuts.append(harness.cloud.add_fault(**fault, when=when, times=_APPLIES))
    return when


def _is_to_come(harness: Harness) -> bool:
    """Tell whether the last outage or cut has applies to strike yet: they take turns, or nothing would be applied."""
    hits = harness.cloud.read("faults")
    last = ((harness.outages[-1:], _APPLIES * PUBLISH_ATTEMPTS), (harness.cuts[-1:], _APPLIES))
    return any(hits.get(fault, 0) < times for faults, times in last for fault in faults)


def runner_is_interrupted(harness: Harness) -> str | None:
    """Take a runner's machine away, as Fargate Spot does."""
    task = _runner(harness)
    if task:
        harness.cloud.interrupt_task(task)
    return task


def _runner(harness: Harness) -> str | None:
    tasks = [task["taskArn"] for task in harness.cloud.read("tasks") if task["lastStatus"] == "RUNNING"]
    return harness.chance.choice(tasks) if tasks else None


def execution_is_stopped(harness: Harness) -> str | None:
    """Stop an execution of a state machine, as an operator in the console may."""
    machine = harness.chance.choice(sorted(harness.cloud.info["state_machines"]))
    states = harness.cloud.client("stepfunctions")
    arn = harness.cloud.info["state_machines"][machine]
    running = states.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"]
    if not running:
        return None
    one = harness.chance.choice(running)
    try:
        states.stop_execution(executionArn=one["executionArn"], error="Soak", cause="Stopped by a person.")
    except ClientError:
        return None  # It has ended meanwhile.
    return f"{machine} {one['name']}"


def runner_comes_twice(harness: Harness) -> str | None:
    """Start a second runner for a job, as when the answer to RunTask is lost and it is sent again."""
    return _start_again(harness, {})


def runner_is_orphaned(harness: Harness) -> str | None:
    """Start a runner for a job that does not exist, with a token that nobody waits for."""
    harness.marks += 1
    return _start_again(harness, {"TIDEGATE_JOB": f"nobody-{harness.marks}-plan-1", "TIDEGATE_START_TOKEN": "nobody"})


def _start_again(harness: Harness, others: Mapping[str, str]) -> str | None:
    """Start a task as one of the last was started, but for some variables."""
    tasks = harness.cloud.read("tasks")[-_RECENT:]
    if not tasks:
        return None
    task = harness.chance.choice(tasks)
    overrides = task["overrides"]["containerOverrides"]
    for each in (each for container in overrides for each in container["environment"]):
        each["value"] = others.get(each["name"], each["value"])
    started = harness.cloud.client("ecs").run_task(
        cluster=task["clusterArn"],
        taskDefinition=task["taskDefinitionArn"],
        overrides={"containerOverrides": overrides},
        networkConfiguration={"awsvpcConfiguration": {"subnets": ["subnet-soak"]}},
    )
    return str(started["tasks"][0]["taskArn"])


def clock_jumps(harness: Harness) -> str:
    """Let everything that is unfinished seem much older, or from the future, as when the clocks of functions differ."""
    minutes = harness.chance.choice((-60, 30, 180))
    reconcile(harness, minutes)
    return f"by {minutes} minutes"


def outside_changes(harness: Harness) -> str:
    """Let somebody change what a root made, past Tidegate: it has drifted then."""
    root = harness.chance.choice(harness.roots)
    harness.marks += 1
    harness.site.outside(root).write_text(f"manually {harness.marks}", encoding="utf-8")
    return root


def forge_fails(harness: Harness) -> str:
    """Let the next calls of Tidegate to the forge's API fail, before or after they took effect."""
    kind = harness.chance.choice(("secondary_limit", "primary_limit", "server_error", "close", "hang"))
    method, path = harness.chance.choice(_CALLED)
    times, after = harness.chance.randint(1, 4), harness.chance.randint(1, 3) == 1
    harness.maintainer.inject(kind, method=method, path=path, times=times, after=after)
    return f"{times} times {method} {path}: {kind}{' after the effect' if after else ''}"


def reconciler_runs(harness: Harness) -> str:
    """Let the reconciler's time come, in the middle of everything."""
    harness.cloud.fire_schedule("Reconcile")
    return ""


#: What goes wrong and how often, against each other.
TROUBLE: tuple[tuple[Event, int], ...] = (
    (webhooks_go_wrong, 8),
    (webhook_comes_again, 3),
    (function_is_killed, 4),
    (function_dies_at_a_call, 6),
    (calls_are_throttled, 6),
    (audit_fails, 2),
    (audit_is_out, 50),
    (runner_is_killed, 2),
    (apply_is_cut, 50),
    (runner_is_interrupted, 1),
    (runner_comes_twice, 2),
    (runner_is_orphaned, 2),
    (execution_is_stopped, 4),
    (clock_jumps, 2),
    (outside_changes, 2),
    (forge_fails, 4),
    (reconciler_runs, 2),
)

"""The rights and the environment variables that go with each capability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from aws_cdk import ArnFormat
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from tidegate.deploys.rules.runner_size import to_text
from tidegate_cdk.artifact_grants import (
    check_policies,
    read_artifacts,
    read_organization,
    remove_layers,
    store_policies,
)
from tidegate_cdk.asl_state_machine import execution_arn, machine_arn, tasks_arn, token_arns
from tidegate_cdk.capabilities import (
    Capability,
    Grant,
    Surroundings,
    allow,
    on_jobs,
    on_records,
)
from tidegate_cdk.identity_grants import public_keys, sign_tokens
from tidegate_cdk.indexes import LISTS

_COLON = ArnFormat.COLON_RESOURCE_NAME
_READ = ("dynamodb:GetItem",)
_READ_MANY = (*_READ, "dynamodb:BatchGetItem")
_WRITE = ("dynamodb:PutItem", "dynamodb:UpdateItem")


def given(capability: Capability, around: Surroundings) -> Grant:
    """Return what a capability needs."""
    return _GRANTS[capability](around)


def grant(function: lambda_.Function, capability: Capability, around: Surroundings) -> None:
    """Give a function what a capability needs."""
    needed = given(capability, around)
    for statement in needed.statements:
        function.add_to_role_policy(statement)
    for name, value in needed.environment.items():
        function.add_environment(name, value)


def _records(*kinds: str, actions: tuple[str, ...]) -> Callable[[Surroundings], Grant]:
    def given(around: Surroundings) -> Grant:
        table = around.storage.table
        return Grant((on_records(table.table_arn, kinds, *actions),), {"TIDEGATE_TABLE": table.table_name})

    return given


def _pull_checks(around: Surroundings) -> Grant:
    """What shows a pull request also links to the pages: else it would look otherwise, depending on who shows it."""
    given = _records("shown", actions=(*_READ_MANY, "dynamodb:PutItem"))(around)
    return Grant(given.statements, {**given.environment, "TIDEGATE_WEB_URL": around.web_url})


def _queues(around: Surroundings) -> Grant:
    """One statement for both kinds: their transactions must fit it whether keys are checked singly or together."""
    table = around.storage.table
    rights = (*_READ, "dynamodb:Query", *_WRITE, "dynamodb:DeleteItem")
    return Grant((on_records(table.table_arn, ("queue", "deployment"), *rights),), {"TIDEGATE_TABLE": table.table_name})


def _open_index(around: Surroundings) -> Grant:
    table = around.storage.table
    return Grant((allow("dynamodb:Query", on=f"{table.table_arn}/index/open"),), {"TIDEGATE_TABLE": table.table_name})


def _repositories(around: Surroundings) -> Grant:
    table = around.storage.table
    return Grant((_on_repositories(table.table_arn, "dynamodb:Query"),), {"TIDEGATE_TABLE": table.table_name})


def _on_repositories(table: str, *actions: str) -> iam.PolicyStatement:
    return allow(*actions, on=table, under={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["repositories"]}})


def _catalog(*more: str) -> Callable[[Surroundings], Grant]:
    """The repositories are one partition; an index has one statement, as its keys are not the table's."""

    def given(around: Surroundings) -> Grant:
        table = around.storage.table
        repositories = _on_repositories(table.table_arn, *_READ, "dynamodb:Query", *more)
        indexes = [allow("dynamodb:Query", on=f"{table.table_arn}/index/{name}") for name in LISTS]
        return Grant((repositories, *indexes), {"TIDEGATE_TABLE": table.table_name})

    return given


def _send_events(around: Surroundings) -> Grant:
    push, action = around.messaging.push.queue, around.messaging.action.queue
    return Grant(
        (allow("sqs:SendMessage", on=push.queue_arn), allow("sqs:SendMessage", on=action.queue_arn)),
        {"TIDEGATE_PUSH_QUEUE": push.queue_url, "TIDEGATE_ACTION_QUEUE": action.queue_url},
    )


def _send_pushes(around: Surroundings) -> Grant:
    """What sends events knows both queues; this one may use but one of them."""
    push = around.messaging.push.queue
    return Grant((allow("sqs:SendMessage", on=push.queue_arn),), _send_events(around).environment)


def _announce(around: Surroundings) -> Grant:
    queue, line, bus = around.messaging.check_run.queue, around.messaging.line.queue, around.messaging.bus
    statements = (
        allow("sqs:SendMessage", on=queue.queue_arn),
        allow("sqs:SendMessage", on=line.queue_arn),
        allow("events:PutEvents", on=bus.event_bus_arn),
    )
    environment = {
        "TIDEGATE_CHECK_RUN_QUEUE": queue.queue_url,
        "TIDEGATE_POSITIONS_QUEUE": line.queue_url,
        "TIDEGATE_EVENT_BUS": bus.event_bus_name,
    }
    return Grant(statements, environment)


def _ask_gates(around: Surroundings) -> Grant:
    queue = around.messaging.change.queue
    return Grant((allow("sqs:SendMessage", on=queue.queue_arn),), {"TIDEGATE_CHANGE_QUEUE": queue.queue_url})


def _audit(around: Surroundings) -> Grant:
    topic = around.messaging.audit.topic_arn
    return Grant((allow("sns:Publish", on=topic),), {"TIDEGATE_AUDIT_TOPIC": topic})


def _start_deploys(around: Surroundings) -> Grant:
    machine = machine_arn(around.stack, around.deploy_machine)
    return Grant((allow("states:StartExecution", on=machine),), {"TIDEGATE_DEPLOY_STATE_MACHINE": machine})


def _watch_deploys(around: Surroundings) -> Grant:
    executions = execution_arn(around.stack, around.deploy_machine)
    return Grant((allow("states:DescribeExecution", on=executions),), {})


def _answer_workers(around: Surroundings) -> Grant:
    machine = machine_arn(around.stack, around.deploy_machine)
    return Grant((allow("states:SendTaskSuccess", on=machine),), {})


def _answer_jobs(around: Surroundings) -> Grant:
    machine = machine_arn(around.stack, around.terraform_machine)
    return Grant((allow("states:SendTaskSuccess", "states:SendTaskFailure", on=machine),), {})


def _start_pull_requests(around: Surroundings) -> Grant:
    machine = machine_arn(around.stack, around.pull_request_machine)
    executions = execution_arn(around.stack, around.pull_request_machine)
    statements = (
        allow("states:StartExecution", on=machine),
        allow("states:StopExecution", "states:DescribeExecution", on=executions),
    )
    return Grant(statements, {"TIDEGATE_PULL_REQUEST_STATE_MACHINE": machine})


def _answer_speculations(around: Surroundings) -> Grant:
    return Grant(tuple(allow("states:SendTaskFailure", on=arn) for arn in _of_layers(around)), {})


def _of_layers(around: Surroundings) -> tuple[str, ...]:
    """Return the ARNs that the task tokens of layers may belong to."""
    names = around.pull_request_machine, around.drift_machine
    return tuple(arn for name in names for arn in token_arns(around.stack, name))


def _places(around: Surroundings) -> Grant:
    table = around.storage.table
    statements = (
        on_records(table.table_arn, ("places",), *_READ, *_WRITE),
        *(allow("states:SendTaskSuccess", on=arn) for arn in _of_layers(around)),
    )
    environment = {
        "TIDEGATE_TABLE": table.table_name,
        "TIDEGATE_PULL_REQUEST_PLANS": around.settings.pull_request_plans,
    }
    return Grant(statements, environment)


def _read_places(around: Surroundings) -> Grant:
    given = _records("places", actions=_READ)(around)
    return Grant(given.statements, {**given.environment, **_runner_slots(around)})


def _slots(around: Surroundings) -> Grant:
    """Who takes and gives back slots wakes nobody: that is left to what takes the change queue's messages."""
    table, asking = around.storage.table, _ask_gates(around)
    statements = (on_records(table.table_arn, ("places",), *_READ, *_WRITE), *asking.statements)
    return Grant(statements, {**asking.environment, "TIDEGATE_TABLE": table.table_name, **_runner_slots(around)})


def _runner_slots(around: Surroundings) -> dict[str, str]:
    return {"TIDEGATE_RUNNER_SLOTS": around.settings.runner_slots}


def _remove_schedules(around: Surroundings) -> Grant:
    schedules = around.schedules
    statements = (
        on_records(around.storage.table.table_arn, ("drift",), "dynamodb:DeleteItem"),
        allow("scheduler:DeleteSchedule", on=schedules.each_arn),
    )
    return Grant(statements, {"TIDEGATE_DRIFT_SCHEDULES": schedules.name})


def _schedule_drift(around: Surroundings) -> Grant:
    """Who may make schedules may start executions: a schedule does it in the role that it is given."""
    schedules, removing = around.schedules, _remove_schedules(around)
    to_scheduler = {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
    statements = (
        on_records(around.storage.table.table_arn, ("drift",), "dynamodb:Query"),
        allow("scheduler:CreateSchedule", "scheduler:UpdateSchedule", on=schedules.each_arn),
        allow("iam:PassRole", on=schedules.role.role_arn, under=to_scheduler),
    )
    environment = {
        "TIDEGATE_DRIFT_STATE_MACHINE": machine_arn(around.stack, around.drift_machine),
        "TIDEGATE_SCHEDULER_ROLE": schedules.role.role_arn,
        "TIDEGATE_UNDELIVERED_QUEUE_ARN": around.messaging.undelivered.queue_arn,
    }
    return Grant((*removing.statements, *statements), {**removing.environment, **environment})


def _watch_drift(around: Surroundings) -> Grant:
    executions = execution_arn(around.stack, around.drift_machine)
    environment = {"TIDEGATE_DRIFT_STATE_MACHINE": machine_arn(around.stack, around.drift_machine)}
    return Grant((allow("states:DescribeExecution", on=executions),), environment)


def _start_drift(around: Surroundings) -> Grant:
    machine = machine_arn(around.stack, around.drift_machine)
    return Grant((allow("states:StartExecution", on=machine),), {"TIDEGATE_DRIFT_STATE_MACHINE": machine})


def _tell_bus(around: Surroundings) -> Grant:
    bus = around.messaging.bus
    return Grant((allow("events:PutEvents", on=bus.event_bus_arn),), {"TIDEGATE_EVENT_BUS": bus.event_bus_name})


def _speculation_jobs(around: Surroundings) -> Grant:
    table = around.storage.table
    return Grant(
        (on_jobs(table.table_arn, "speculate", *_READ, *_WRITE),),
        {"TIDEGATE_TABLE": table.table_name},
    )


def _plan_review(around: Surroundings) -> Grant:
    return Grant((), {"TIDEGATE_PLAN_REVIEW": around.settings.plan_review})


def _comment_prefixes(around: Surroundings) -> Grant:
    return Grant((), {"TIDEGATE_COMMENT_PREFIXES": around.settings.comment_prefixes})


def _runner_sizes(around: Surroundings) -> Grant:
    settings = around.settings
    return Grant((), {"TIDEGATE_RUNNERS": to_text(replace(settings.runners.offer, architecture=settings.architecture))})


def _rounds(around: Surroundings) -> Grant:
    return Grant((), {"TIDEGATE_ROUNDS_PER_EXECUTION": around.settings.rounds_per_execution})


def _forge_address(around: Surroundings) -> Grant:
    return Grant((), {"TIDEGATE_FORGE": around.settings.forge, "TIDEGATE_FORGE_URL": around.settings.forge_url})


def _push_queue(around: Surroundings) -> Grant:
    return Grant((), {"TIDEGATE_PUSH_QUEUE": around.messaging.push.queue.queue_url})


def _action_queue(around: Surroundings) -> Grant:
    return Grant((), {"TIDEGATE_ACTION_QUEUE": around.messaging.action.queue.queue_url})


def _check_run_queue(around: Surroundings) -> Grant:
    messaging = around.messaging
    environment = {
        "TIDEGATE_CHECK_RUN_QUEUE": messaging.check_run.queue.queue_url,
        "TIDEGATE_EVENT_BUS": messaging.bus.event_bus_name,
    }
    return Grant((allow("sqs:SendMessage", on=messaging.check_run.queue.queue_arn),), environment)


def _line_queues(around: Surroundings) -> Grant:
    """What looks at lines sends itself to both queues, and to the check-run queue; the bus is not its business."""
    line, later = around.messaging.line.queue, around.messaging.queue_changed_later.queue
    statements = (allow("sqs:SendMessage", on=line.queue_arn), allow("sqs:SendMessage", on=later.queue_arn))
    return Grant(
        statements, {"TIDEGATE_POSITIONS_QUEUE": line.queue_url, "TIDEGATE_POSITIONS_LATER_QUEUE": later.queue_url}
    )


def _forge(around: Surroundings) -> Grant:
    settings = around.settings
    environment = {
        "TIDEGATE_APP_SECRET_NAME": settings.app_secret_name,
        "TIDEGATE_FORGE": settings.forge,
        "TIDEGATE_FORGE_URL": settings.forge_url,
        "TIDEGATE_FORGE_API_URL": settings.forge_api_url,
    }
    return Grant((_secret(around, settings.app_secret_name),), environment)


def _stop_runners(around: Surroundings) -> Grant:
    """Who took a job is in its record; tasks of other clusters are none of Tidegate's."""
    table, cluster = around.storage.table, around.cluster
    statements = (
        on_records(table.table_arn, ("job",), *_READ),
        allow("ecs:StopTask", on=tasks_arn(around.stack, cluster), under=_in_cluster(around)),
    )
    return Grant(statements, {"TIDEGATE_TABLE": table.table_name, "TIDEGATE_CLUSTER": cluster.cluster_arn})


def _plan_runners(around: Surroundings) -> Grant:
    if around.plan_functions is None:
        return Grant((), {})
    table = around.storage.table
    statement = on_records(table.table_arn, ("runner",), *_READ, "dynamodb:PutItem")
    return Grant((statement,), {"TIDEGATE_PLAN_FUNCTION": around.plan_functions.size})


def _start_plans(around: Surroundings) -> Grant:
    functions = around.plan_functions
    if functions is None:
        return Grant((), {})
    statements = tuple(allow("lambda:InvokeFunction", on=each) for each in functions.versions)
    return Grant(statements, {"TIDEGATE_PLAN_FUNCTION": functions.size})


def _list_runners(around: Surroundings) -> Grant:
    """ListTasks knows no resource for tasks on Fargate: the condition says which cluster's."""
    statements = (
        allow("ecs:ListTasks", on="*", under=_in_cluster(around)),
        allow("ecs:DescribeTasks", on=tasks_arn(around.stack, around.cluster), under=_in_cluster(around)),
    )
    return Grant(statements, {"TIDEGATE_CLUSTER": around.cluster.cluster_arn})


def _in_cluster(around: Surroundings) -> Mapping[str, object]:
    return {"ArnEquals": {"ecs:cluster": around.cluster.cluster_arn}}


def _operators(around: Surroundings) -> Grant:
    return Grant((), {"TIDEGATE_OPERATORS_TEAM": around.settings.operators_team})


def _webhook_secret(around: Surroundings) -> Grant:
    name = around.settings.webhook_secret_name
    environment = {"TIDEGATE_WEBHOOK_SECRET_NAME": name, "TIDEGATE_FORGE": around.settings.forge}
    return Grant((_secret(around, name),), environment)


def _secret(around: Surroundings, name: str) -> iam.PolicyStatement:
    """Secrets Manager ends each ARN with six characters of its own."""
    arn = around.stack.format_arn(
        service="secretsmanager", resource="secret", resource_name=f"{name}-??????", arn_format=_COLON
    )
    return allow("secretsmanager:GetSecretValue", on=arn)


_GRANTS: Mapping[Capability, Callable[[Surroundings], Grant]] = {
    Capability.QUEUES: _queues,
    Capability.READ_QUEUES: _records("queue", actions=(*_READ, "dynamodb:Query")),
    Capability.MANY_QUEUES: _records("queue", actions=("dynamodb:BatchGetItem",)),
    Capability.HEADS: _records("queue", actions=("dynamodb:Query", "dynamodb:UpdateItem")),
    Capability.MANY_DEPLOYMENTS: _records("deployment", actions=("dynamodb:BatchGetItem",)),
    Capability.DEPLOYMENTS: _records("deployment", actions=(*_READ, *_WRITE)),
    Capability.READ_DEPLOYMENTS: _records("deployment", actions=_READ_MANY),
    Capability.CHANGE_SETS: _records("change", actions=("dynamodb:Query", *_WRITE)),
    Capability.READ_CHANGE_SETS: _records("change", actions=("dynamodb:Query",)),
    Capability.PULL_REQUESTS: _records("pull", actions=(*_READ_MANY, "dynamodb:PutItem")),
    Capability.READ_PULL_REQUESTS: _records("pull", actions=_READ_MANY),
    Capability.PLACES: _places,
    Capability.READ_PLAN_SLOTS: _read_places,
    Capability.SLOTS: _slots,
    Capability.READ_LAYERS: _records("layer", actions=_READ_MANY),
    Capability.LAYERS: _records("layer", actions=(*_READ_MANY, "dynamodb:PutItem")),
    Capability.PULL_CHECKS: _pull_checks,
    Capability.REMOVE_LAYERS: remove_layers,
    Capability.DRIFTS: _records("drift", actions=(*_READ, "dynamodb:PutItem")),
    Capability.READ_DRIFTS: _records("drift", actions=_READ_MANY),
    Capability.SCHEDULE_DRIFT: _schedule_drift,
    Capability.REMOVE_SCHEDULES: _remove_schedules,
    Capability.START_DRIFT: _start_drift,
    Capability.WATCH_DRIFT: _watch_drift,
    Capability.SPECULATIVE_PLAN_JOBS: _speculation_jobs,
    Capability.READ_REPOSITORY_INDEX: _catalog(),
    Capability.REPOSITORIES: _repositories,
    Capability.CATALOG: _catalog("dynamodb:PutItem"),
    Capability.JOBS: _records("job", actions=(*_READ, *_WRITE)),
    Capability.READ_JOBS: _records("job", actions=(*_READ, "dynamodb:Query")),
    Capability.SIGN_OUTS: _records("session", actions=(*_READ, "dynamodb:PutItem")),
    Capability.DELIVERIES: _records("delivery", actions=(*_READ, *_WRITE)),
    Capability.OPEN_INDEX: _open_index,
    Capability.SEND_EVENTS: _send_events,
    Capability.SEND_PUSHES: _send_pushes,
    Capability.ANNOUNCE: _announce,
    Capability.PUBLISH_EVENTS: _tell_bus,
    Capability.ASK_GATES: _ask_gates,
    Capability.AUDIT: _audit,
    Capability.START_DEPLOYS: _start_deploys,
    Capability.WATCH_DEPLOYS: _watch_deploys,
    Capability.START_PULL_REQUESTS: _start_pull_requests,
    Capability.ANSWER_SPECULATIVE_PLANS: _answer_speculations,
    Capability.ANSWER_WORKERS: _answer_workers,
    Capability.ANSWER_JOBS: _answer_jobs,
    Capability.READ_ARTIFACTS: read_artifacts,
    Capability.READ_ORGANIZATION: read_organization,
    Capability.STORE_POLICIES: store_policies,
    Capability.CHECK_POLICIES: check_policies,
    Capability.PLAN_REVIEW: _plan_review,
    Capability.COMMENT_PREFIXES: _comment_prefixes,
    Capability.RUNNER_SIZES: _runner_sizes,
    Capability.ROUNDS: _rounds,
    Capability.FORGE_ADDRESS: _forge_address,
    Capability.PUSH_QUEUE: _push_queue,
    Capability.ACTION_QUEUE: _action_queue,
    Capability.CHECK_RUN_QUEUE: _check_run_queue,
    Capability.LINES: _records("line", actions=("dynamodb:Query", "dynamodb:PutItem", "dynamodb:BatchWriteItem")),
    Capability.READ_POSITIONS: _records("line", actions=_READ),
    Capability.POSITION_QUEUES: _line_queues,
    Capability.FORGE: _forge,
    Capability.STOP_RUNNERS: _stop_runners,
    Capability.PLAN_RUNNERS: _plan_runners,
    Capability.START_PLANS: _start_plans,
    Capability.LIST_RUNNERS: _list_runners,
    Capability.SIGN_TOKENS: sign_tokens,
    Capability.PUBLIC_KEYS: public_keys,
    Capability.OPERATORS: _operators,
    Capability.WEBHOOK_SECRET: _webhook_secret,
}

"""The permissions and environment variables of each capability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from aws_cdk import ArnFormat
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from tidegate.deploys.rules.runner_size import to_text
from tidegate.notifications.rules.destination import DestinationKind, names_to_text
from tidegate.notifications.rules.destination import to_text as to_destinations
from tidegate_cdk.artifact_grants import (
    check_policies,
    cluster_plans,
    cluster_tasks,
    image_sets,
    plan_texts,
    read_artifacts,
    read_organization,
    remove_layers,
    replay_orders,
    replay_results,
    store_policies,
)
from tidegate_cdk.asl_state_machine import execution_arn, machine_arn, tasks_arn, token_arns
from tidegate_cdk.capabilities import (
    Capability,
    Grant,
    GrantContext,
    allow,
    on_jobs,
    on_records,
)
from tidegate_cdk.identity_grants import public_keys, sign_tokens
from tidegate_cdk.indexes import LISTS
from tidegate_cdk.messaging import topic_name

_COLON = ArnFormat.COLON_RESOURCE_NAME
_READ = ("dynamodb:GetItem",)
_READ_MANY = (*_READ, "dynamodb:BatchGetItem")
_WRITE = ("dynamodb:PutItem", "dynamodb:UpdateItem")
_READ_ALL = (*_READ_MANY, "dynamodb:Query")


#: Checkpoints that hold no more are deleted.
_WRITE_CLUSTERS = ("dynamodb:PutItem", "dynamodb:DeleteItem")


def given(capability: Capability, context: GrantContext) -> Grant:
    """Return the permissions of a capability."""
    return _GRANTS[capability](context)


def grant(function: lambda_.Function, capability: Capability, context: GrantContext) -> None:
    """Grant a capability to a function."""
    needed = given(capability, context)
    for statement in needed.statements:
        function.add_to_role_policy(statement)
    for name, value in needed.environment.items():
        function.add_environment(name, value)


def _records(*kinds: str, actions: tuple[str, ...]) -> Callable[[GrantContext], Grant]:
    def given(context: GrantContext) -> Grant:
        table = context.storage.table
        return Grant((on_records(table.table_arn, kinds, *actions),), {"TIDEGATE_TABLE": table.table_name})

    return given


def _pull_checks(context: GrantContext) -> Grant:
    """Every publisher of a pull request links to the pages: otherwise the text would depend on the publisher."""
    given = _records("shown", actions=(*_READ_MANY, "dynamodb:PutItem"))(context)
    return Grant(given.statements, {**given.environment, "TIDEGATE_WEB_URL": context.web_url})


def _queues(context: GrantContext) -> Grant:
    """One statement for both kinds: their transactions must match it whether keys are checked singly or together."""
    table = context.storage.table
    rights = (*_READ, "dynamodb:Query", *_WRITE, "dynamodb:DeleteItem")
    return Grant((on_records(table.table_arn, ("queue", "deployment"), *rights),), {"TIDEGATE_TABLE": table.table_name})


def _open_index(context: GrantContext) -> Grant:
    table = context.storage.table
    return Grant((allow("dynamodb:Query", on=f"{table.table_arn}/index/open"),), {"TIDEGATE_TABLE": table.table_name})


def _repositories(context: GrantContext) -> Grant:
    table = context.storage.table
    return Grant((_on_repositories(table.table_arn, "dynamodb:Query"),), {"TIDEGATE_TABLE": table.table_name})


def _on_repositories(table: str, *actions: str) -> iam.PolicyStatement:
    return allow(*actions, on=table, under={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["repositories"]}})


def _catalog(*more: str) -> Callable[[GrantContext], Grant]:
    """The repositories are one partition; an index has its own statement, as its keys are not the table's."""

    def given(context: GrantContext) -> Grant:
        table = context.storage.table
        repositories = _on_repositories(table.table_arn, *_READ, "dynamodb:Query", *more)
        indexes = [allow("dynamodb:Query", on=f"{table.table_arn}/index/{name}") for name in LISTS]
        return Grant((repositories, *indexes), {"TIDEGATE_TABLE": table.table_name})

    return given


def _send_events(context: GrantContext) -> Grant:
    discovery, action = context.messaging.discovery.queue, context.messaging.action.queue
    return Grant(
        (allow("sqs:SendMessage", on=discovery.queue_arn), allow("sqs:SendMessage", on=action.queue_arn)),
        {"TIDEGATE_DISCOVERY_QUEUE": discovery.queue_url, "TIDEGATE_ACTION_QUEUE": action.queue_url},
    )


def _send_to_discovery(context: GrantContext) -> Grant:
    """The event sender knows both queues; this function may use only one of them."""
    discovery = context.messaging.discovery.queue
    return Grant((allow("sqs:SendMessage", on=discovery.queue_arn),), _send_events(context).environment)


def _announce(context: GrantContext) -> Grant:
    queue, positions, bus = context.messaging.check_run.queue, context.messaging.positions.queue, context.messaging.bus
    statements = (
        allow("sqs:SendMessage", on=queue.queue_arn),
        allow("sqs:SendMessage", on=positions.queue_arn),
        allow("events:PutEvents", on=bus.event_bus_arn),
    )
    environment = {
        "TIDEGATE_CHECK_RUN_QUEUE": queue.queue_url,
        "TIDEGATE_POSITIONS_QUEUE": positions.queue_url,
        "TIDEGATE_EVENT_BUS": bus.event_bus_name,
    }
    return Grant(statements, environment)


def _ask_gates(context: GrantContext) -> Grant:
    queue = context.messaging.change.queue
    return Grant((allow("sqs:SendMessage", on=queue.queue_arn),), {"TIDEGATE_CHANGE_QUEUE": queue.queue_url})


def _audit(context: GrantContext) -> Grant:
    topic = context.messaging.audit.topic_arn
    return Grant((allow("sns:Publish", on=topic),), {"TIDEGATE_AUDIT_TOPIC": topic})


def _start_deploys(context: GrantContext) -> Grant:
    machine = machine_arn(context.stack, context.deploy_machine)
    return Grant((allow("states:StartExecution", on=machine),), {"TIDEGATE_DEPLOY_STATE_MACHINE": machine})


def _watch_deploys(context: GrantContext) -> Grant:
    executions = execution_arn(context.stack, context.deploy_machine)
    return Grant((allow("states:DescribeExecution", on=executions),), {})


def _answer_workers(context: GrantContext) -> Grant:
    machine = machine_arn(context.stack, context.deploy_machine)
    return Grant((allow("states:SendTaskSuccess", on=machine),), {})


def _answer_jobs(context: GrantContext) -> Grant:
    machine = machine_arn(context.stack, context.terraform_machine)
    return Grant((allow("states:SendTaskSuccess", "states:SendTaskFailure", on=machine),), {})


def _start_pull_requests(context: GrantContext) -> Grant:
    machine = machine_arn(context.stack, context.pull_request_machine)
    executions = execution_arn(context.stack, context.pull_request_machine)
    statements = (
        allow("states:StartExecution", on=machine),
        allow("states:StopExecution", "states:DescribeExecution", on=executions),
    )
    return Grant(statements, {"TIDEGATE_PULL_REQUEST_STATE_MACHINE": machine})


def _answer_speculations(context: GrantContext) -> Grant:
    return Grant(tuple(allow("states:SendTaskFailure", on=arn) for arn in _of_layers(context)), {})


def _of_layers(context: GrantContext) -> tuple[str, ...]:
    """Return the ARNs that the task tokens of layers may belong to."""
    names = context.pull_request_machine, context.drift_machine
    return tuple(arn for name in names for arn in token_arns(context.stack, name))


def _places(context: GrantContext) -> Grant:
    table = context.storage.table
    statements = (
        on_records(table.table_arn, ("places",), *_READ, *_WRITE),
        *(allow("states:SendTaskSuccess", on=arn) for arn in _of_layers(context)),
    )
    environment = {
        "TIDEGATE_TABLE": table.table_name,
        "TIDEGATE_PULL_REQUEST_PLANS": context.settings.pull_request_plans,
    }
    return Grant(statements, environment)


def _read_places(context: GrantContext) -> Grant:
    given = _records("places", actions=_READ)(context)
    return Grant(given.statements, {**given.environment, **_runner_slots(context)})


def _slots(context: GrantContext) -> Grant:
    """Taking and releasing slots wakes nobody: the change queue's function does that."""
    table, asking = context.storage.table, _ask_gates(context)
    statements = (on_records(table.table_arn, ("places",), *_READ, *_WRITE), *asking.statements)
    return Grant(statements, {**asking.environment, "TIDEGATE_TABLE": table.table_name, **_runner_slots(context)})


def _runner_slots(context: GrantContext) -> dict[str, str]:
    return {"TIDEGATE_RUNNER_SLOTS": context.settings.runner_slots}


def _remove_schedules(context: GrantContext) -> Grant:
    schedules = context.schedules
    statements = (
        on_records(context.storage.table.table_arn, ("drift",), "dynamodb:DeleteItem"),
        allow("scheduler:DeleteSchedule", on=schedules.each_arn),
    )
    return Grant(statements, {"TIDEGATE_DRIFT_SCHEDULES": schedules.name})


def _schedule_drift(context: GrantContext) -> Grant:
    """Permission to create schedules includes starting executions: a schedule does so in the role that it is given."""
    schedules, removing = context.schedules, _remove_schedules(context)
    to_scheduler = {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
    statements = (
        on_records(context.storage.table.table_arn, ("drift",), "dynamodb:Query"),
        allow("scheduler:CreateSchedule", "scheduler:UpdateSchedule", on=schedules.each_arn),
        allow("iam:PassRole", on=schedules.role.role_arn, under=to_scheduler),
    )
    environment = {
        "TIDEGATE_DRIFT_STATE_MACHINE": machine_arn(context.stack, context.drift_machine),
        "TIDEGATE_SCHEDULER_ROLE": schedules.role.role_arn,
        "TIDEGATE_UNDELIVERED_QUEUE_ARN": context.messaging.undelivered.queue_arn,
    }
    return Grant((*removing.statements, *statements), {**removing.environment, **environment})


def _watch_drift(context: GrantContext) -> Grant:
    executions = execution_arn(context.stack, context.drift_machine)
    environment = {"TIDEGATE_DRIFT_STATE_MACHINE": machine_arn(context.stack, context.drift_machine)}
    return Grant((allow("states:DescribeExecution", on=executions),), environment)


def _start_drift(context: GrantContext) -> Grant:
    machine = machine_arn(context.stack, context.drift_machine)
    return Grant((allow("states:StartExecution", on=machine),), {"TIDEGATE_DRIFT_STATE_MACHINE": machine})


def _update_machines(context: GrantContext) -> tuple[str, str]:
    names = context.config_update_machine, context.promotion_machine
    return machine_arn(context.stack, names[0]), machine_arn(context.stack, names[1])


def _update_variables(context: GrantContext) -> dict[str, str]:
    worker, promotion = _update_machines(context)
    return {"TIDEGATE_CONFIG_UPDATE_STATE_MACHINE": worker, "TIDEGATE_PROMOTION_STATE_MACHINE": promotion}


#: Promotions that have ended are moved, so that open ones are found without them.
_WRITE_UPDATES = ("dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem")


def _start_updates(context: GrantContext) -> Grant:
    statements = tuple(allow("states:StartExecution", on=each) for each in _update_machines(context))
    return Grant(statements, _update_variables(context))


def _find_updates(context: GrantContext) -> Grant:
    names = context.config_update_machine, context.promotion_machine
    executions = (execution_arn(context.stack, name) for name in names)
    statements = tuple(allow("states:DescribeExecution", on=each) for each in executions)
    return Grant(statements, _update_variables(context))


def _answer_updates(context: GrantContext) -> Grant:
    answers = ("states:SendTaskSuccess", "states:SendTaskFailure")
    return Grant(tuple(allow(*answers, on=each) for each in _update_machines(context)), {})


def _cluster_machines(context: GrantContext) -> dict[str, str]:
    """The names of machines of clusters follow: their ARNs begin with this."""
    return {"TIDEGATE_CLUSTER_MACHINES": machine_arn(context.stack, f"{context.settings.prefix}-")}


def _start_cluster_errors(context: GrantContext) -> Grant:
    machine = machine_arn(context.stack, f"{context.settings.prefix}-cluster-error")
    return Grant((allow("states:StartExecution", on=machine),), _cluster_machines(context))


def _find_clusters(context: GrantContext) -> Grant:
    executions = execution_arn(context.stack, f"{context.settings.prefix}-cluster-*")
    return Grant((allow("states:DescribeExecution", on=executions),), _cluster_machines(context))


def _answer_cluster_tasks(context: GrantContext) -> Grant:
    machine = machine_arn(context.stack, f"{context.settings.prefix}-cluster-task")
    return Grant((allow("states:SendTaskFailure", on=machine),), {})


def _cluster_functions(context: GrantContext) -> Grant:
    return Grant((), {"TIDEGATE_CLUSTER_FUNCTIONS": ",".join(context.settings.clusters.functions)})


def _tell_bus(context: GrantContext) -> Grant:
    bus = context.messaging.bus
    return Grant((allow("events:PutEvents", on=bus.event_bus_arn),), {"TIDEGATE_EVENT_BUS": bus.event_bus_name})


def _speculation_jobs(context: GrantContext) -> Grant:
    table = context.storage.table
    return Grant(
        (on_jobs(table.table_arn, "speculate", *_READ, *_WRITE),),
        {"TIDEGATE_TABLE": table.table_name},
    )


def _plan_review(context: GrantContext) -> Grant:
    return Grant((), {"TIDEGATE_PLAN_REVIEW": context.settings.plan_review})


def _comment_prefixes(context: GrantContext) -> Grant:
    return Grant((), {"TIDEGATE_COMMENT_PREFIXES": context.settings.comment_prefixes})


def _runner_sizes(context: GrantContext) -> Grant:
    settings = context.settings
    return Grant((), {"TIDEGATE_RUNNERS": to_text(replace(settings.runners.offer, architecture=settings.architecture))})


def _rounds(context: GrantContext) -> Grant:
    return Grant((), {"TIDEGATE_ROUNDS_PER_EXECUTION": context.settings.rounds_per_execution})


def _forge_address(context: GrantContext) -> Grant:
    return Grant((), {"TIDEGATE_FORGE": context.settings.forge, "TIDEGATE_FORGE_URL": context.settings.forge_url})


def _discovery_queue(context: GrantContext) -> Grant:
    return Grant((), {"TIDEGATE_DISCOVERY_QUEUE": context.messaging.discovery.queue.queue_url})


def _action_queue(context: GrantContext) -> Grant:
    return Grant((), {"TIDEGATE_ACTION_QUEUE": context.messaging.action.queue.queue_url})


def _check_run_queue(context: GrantContext) -> Grant:
    messaging = context.messaging
    environment = {
        "TIDEGATE_CHECK_RUN_QUEUE": messaging.check_run.queue.queue_url,
        "TIDEGATE_EVENT_BUS": messaging.bus.event_bus_name,
    }
    return Grant((allow("sqs:SendMessage", on=messaging.check_run.queue.queue_arn),), environment)


def _position_queues(context: GrantContext) -> Grant:
    """The refresh of positions sends to both position queues, and to the check-run queue; it does not use the bus."""
    positions, later = context.messaging.positions.queue, context.messaging.positions_later.queue
    statements = (allow("sqs:SendMessage", on=positions.queue_arn), allow("sqs:SendMessage", on=later.queue_arn))
    return Grant(
        statements, {"TIDEGATE_POSITIONS_QUEUE": positions.queue_url, "TIDEGATE_POSITIONS_LATER_QUEUE": later.queue_url}
    )


def _forge(context: GrantContext) -> Grant:
    settings = context.settings
    environment = {
        "TIDEGATE_APP_SECRET_NAME": settings.app_secret_name,
        "TIDEGATE_FORGE": settings.forge,
        "TIDEGATE_FORGE_URL": settings.forge_url,
        "TIDEGATE_FORGE_API_URL": settings.forge_api_url,
    }
    return Grant((_secret(context, settings.app_secret_name),), environment)


def _stop_runners(context: GrantContext) -> Grant:
    """The job's record names its runner; tasks of other clusters are out of reach."""
    table, cluster = context.storage.table, context.cluster
    statements = (
        on_records(table.table_arn, ("job",), *_READ),
        allow("ecs:StopTask", on=tasks_arn(context.stack, cluster), under=_in_cluster(context)),
    )
    return Grant(statements, {"TIDEGATE_TABLE": table.table_name, "TIDEGATE_CLUSTER": cluster.cluster_arn})


def _plan_runners(context: GrantContext) -> Grant:
    if context.plan_functions is None:
        return Grant((), {})
    table = context.storage.table
    statement = on_records(table.table_arn, ("runner",), *_READ, "dynamodb:PutItem")
    return Grant((statement,), {"TIDEGATE_PLAN_FUNCTION": context.plan_functions.size})


def _start_plans(context: GrantContext) -> Grant:
    functions = context.plan_functions
    if functions is None:
        return Grant((), {})
    statements = tuple(allow("lambda:InvokeFunction", on=each) for each in functions.versions)
    return Grant(statements, {"TIDEGATE_PLAN_FUNCTION": functions.size})


def _list_runners(context: GrantContext) -> Grant:
    """ListTasks supports no resource for Fargate tasks: the condition limits the cluster."""
    statements = (
        allow("ecs:ListTasks", on="*", under=_in_cluster(context)),
        allow("ecs:DescribeTasks", on=tasks_arn(context.stack, context.cluster), under=_in_cluster(context)),
    )
    return Grant(statements, {"TIDEGATE_CLUSTER": context.cluster.cluster_arn})


def _in_cluster(context: GrantContext) -> Mapping[str, object]:
    return {"ArnEquals": {"ecs:cluster": context.cluster.cluster_arn}}


def _operators(context: GrantContext) -> Grant:
    return Grant((), {"TIDEGATE_OPERATORS_TEAM": context.settings.operators_team})


def _update_limits(context: GrantContext) -> Grant:
    updates = context.settings.updates
    environment = {
        "TIDEGATE_UPDATE_REPOSITORIES": ",".join(updates.stack_repositories),
        "TIDEGATE_STATUS_NETWORKS": ",".join(updates.status_networks),
        "TIDEGATE_CI_ISSUER": updates.issuer,
        "TIDEGATE_CI_AUDIENCE": updates.audience,
    }
    return Grant((), environment)


def _notify(context: GrantContext) -> Grant:
    """Send to destinations: nothing without any. E-mail has a topic for each."""
    destinations, queue = context.settings.destinations, context.messaging.notification
    if queue is None:
        return Grant((), {})
    topics, plans = context.messaging.email_topics, plan_texts(context)
    statements = (
        *plans.statements,
        allow("sqs:SendMessage", on=queue.queue.queue_arn),
        *(_secret(context, name) for name in sorted({each.secret for each in destinations if each.secret})),
        *(allow("sns:Publish", on=topic.topic_arn) for topic in topics),
    )
    environment = {
        **plans.environment,
        "TIDEGATE_NOTIFICATION_QUEUE": queue.queue.queue_url,
        "TIDEGATE_DESTINATIONS": to_destinations(destinations),
        "TIDEGATE_NOTIFICATION_TOPICS": context.stack.format_arn(
            service="sns", resource=topic_name(context.settings.prefix, ""), arn_format=ArnFormat.NO_RESOURCE_NAME
        ),
        "TIDEGATE_WEB_URL": context.web_url,
    }
    return Grant(statements, environment)


def _slack(context: GrantContext) -> Grant:
    """Verify clicks on buttons by the secrets of Slack's destinations: nothing without any."""
    slack = [each for each in context.settings.destinations if each.kind is DestinationKind.SLACK]
    if not slack:
        return Grant((), {})
    names = sorted({each.secret for each in slack})
    records = _records("slack", actions=(*_READ, "dynamodb:Query", *_WRITE))(context)
    statements = (*records.statements, *(_secret(context, name) for name in names))
    return Grant(statements, {**records.environment, "TIDEGATE_SLACK_APPS": ",".join(names)})


def _read_organization(context: GrantContext) -> Grant:
    """With the file come the destinations that repositories may name."""
    given, names = read_organization(context), names_to_text(context.settings.destinations)
    return Grant(given.statements, {**given.environment, "TIDEGATE_DESTINATION_NAMES": names})


def _webhook_secret(context: GrantContext) -> Grant:
    name = context.settings.webhook_secret_name
    environment = {"TIDEGATE_WEBHOOK_SECRET_NAME": name, "TIDEGATE_FORGE": context.settings.forge}
    return Grant((_secret(context, name),), environment)


def _set_up(context: GrantContext) -> Grant:
    """Whoever may create a secret cannot change one: CreateSecret refuses a name that exists."""
    settings, table = context.settings, context.storage.table
    if settings.forge != "github":
        return Grant((), {})
    statements = (
        on_records(table.table_arn, ("setup",), "dynamodb:GetItem", "dynamodb:UpdateItem"),
        *(
            _secret(context, name, "secretsmanager:CreateSecret", "secretsmanager:DescribeSecret")
            for name in (settings.app_secret_name, settings.webhook_secret_name)
        ),
    )
    environment = {
        "TIDEGATE_TABLE": table.table_name,
        "TIDEGATE_WEBHOOK_SECRET_NAME": settings.webhook_secret_name,
        "TIDEGATE_WEBHOOK_URL": context.webhook_url,
    }
    return Grant(statements, environment)


def _secret(context: GrantContext, name: str, *actions: str) -> iam.PolicyStatement:
    """Allow to read a secret, or ``actions``.

    Secrets Manager appends six random characters to each ARN. A secret that does not exist has none yet: without the
    bare name, AWS answers that access is denied, not that there is no secret.
    """
    arns = [
        context.stack.format_arn(
            service="secretsmanager", resource="secret", resource_name=f"{name}{end}", arn_format=_COLON
        )
        for end in ("", "-??????")
    ]
    return iam.PolicyStatement(actions=list(actions or ("secretsmanager:GetSecretValue",)), resources=arns)


_GRANTS: Mapping[Capability, Callable[[GrantContext], Grant]] = {
    Capability.QUEUES: _queues,
    Capability.READ_QUEUES: _records("queue", actions=(*_READ, "dynamodb:Query")),
    Capability.MANY_QUEUES: _records("queue", actions=("dynamodb:BatchGetItem",)),
    Capability.HEADS: _records("queue", actions=("dynamodb:Query", "dynamodb:UpdateItem")),
    Capability.MANY_DEPLOYMENTS: _records("deployment", actions=("dynamodb:BatchGetItem",)),
    Capability.DEPLOYMENTS: _records("deployment", actions=(*_READ, *_WRITE)),
    Capability.READ_DEPLOYMENTS: _records("deployment", actions=_READ_MANY),
    Capability.CHANGE_SETS: _records("change", actions=("dynamodb:Query", *_WRITE)),
    Capability.READ_CHANGE_SETS: _records("change", actions=("dynamodb:Query",)),
    Capability.WAVES: _records("waves", actions=("dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem")),
    Capability.PULL_REQUESTS: _records("pull", actions=(*_READ_MANY, "dynamodb:PutItem")),
    Capability.READ_PULL_REQUESTS: _records("pull", actions=_READ_MANY),
    Capability.PLAN_SLOTS: _places,
    Capability.READ_PLAN_SLOTS: _read_places,
    Capability.SLOTS: _slots,
    Capability.READ_SPECULATIVE_PLANS: _records("layer", actions=_READ_MANY),
    Capability.SPECULATIVE_PLANS: _records("layer", actions=(*_READ_MANY, "dynamodb:PutItem")),
    Capability.PULL_REQUEST_CHECKS: _pull_checks,
    Capability.REMOVE_SPECULATIVE_PLANS: remove_layers,
    Capability.DRIFTS: _records("drift", actions=(*_READ, "dynamodb:PutItem")),
    Capability.READ_DRIFTS: _records("drift", actions=(*_READ_MANY, "dynamodb:Query")),
    # A day and the mark of the counted deployment are one transaction.
    Capability.COUNT: _records("insights", "deployment", actions=(*_READ, *_WRITE)),
    Capability.COUNT_DRIFT: _records("insights", actions=(*_READ, "dynamodb:PutItem")),
    Capability.READ_INSIGHTS: _records("insights", actions=("dynamodb:Query",)),
    Capability.SCHEDULE_DRIFT: _schedule_drift,
    Capability.REMOVE_SCHEDULES: _remove_schedules,
    Capability.START_DRIFT: _start_drift,
    Capability.FIND_DRIFT_EXECUTIONS: _watch_drift,
    Capability.SPECULATIVE_PLAN_JOBS: _speculation_jobs,
    Capability.READ_REPOSITORY_INDEX: _catalog(),
    Capability.REPOSITORIES: _repositories,
    Capability.REPOSITORY_INDEX: _catalog("dynamodb:PutItem"),
    Capability.JOBS: _records("job", actions=(*_READ, *_WRITE)),
    Capability.READ_JOBS: _records("job", actions=(*_READ_MANY, "dynamodb:Query")),
    Capability.SIGN_OUTS: _records("session", actions=(*_READ, "dynamodb:PutItem")),
    Capability.DELIVERIES: _records("delivery", actions=(*_READ, *_WRITE)),
    Capability.OPEN_DEPLOYMENTS: _open_index,
    Capability.SEND_EVENTS: _send_events,
    Capability.SEND_TO_DISCOVERY: _send_to_discovery,
    Capability.PUBLISH_CHANGES: _announce,
    Capability.PUBLISH_EVENTS: _tell_bus,
    Capability.EVALUATE_GATES: _ask_gates,
    Capability.AUDIT: _audit,
    Capability.START_DEPLOYS: _start_deploys,
    Capability.FIND_DEPLOY_EXECUTIONS: _watch_deploys,
    Capability.START_PULL_REQUESTS: _start_pull_requests,
    Capability.ANSWER_SPECULATIVE_PLANS: _answer_speculations,
    Capability.ANSWER_WORKERS: _answer_workers,
    Capability.ANSWER_JOBS: _answer_jobs,
    Capability.READ_ARTIFACTS: read_artifacts,
    Capability.READ_ORGANIZATION: _read_organization,
    Capability.STORE_POLICIES: store_policies,
    Capability.CHECK_POLICIES: check_policies,
    Capability.PLAN_REVIEW: _plan_review,
    Capability.COMMENT_PREFIXES: _comment_prefixes,
    Capability.RUNNER_SIZES: _runner_sizes,
    Capability.ROUNDS: _rounds,
    Capability.FORGE_ADDRESS: _forge_address,
    Capability.DISCOVERY_QUEUE: _discovery_queue,
    Capability.ACTION_QUEUE: _action_queue,
    Capability.CHECK_RUN_QUEUE: _check_run_queue,
    Capability.POSITIONS: _records("line", actions=("dynamodb:Query", "dynamodb:PutItem", "dynamodb:BatchWriteItem")),
    Capability.READ_POSITIONS: _records("line", actions=_READ),
    Capability.POSITION_QUEUES: _position_queues,
    Capability.FORGE: _forge,
    Capability.STOP_RUNNERS: _stop_runners,
    Capability.PLAN_RUNNERS: _plan_runners,
    Capability.START_PLANS: _start_plans,
    Capability.LIST_RUNNERS: _list_runners,
    Capability.SIGN_TOKENS: sign_tokens,
    Capability.PUBLIC_KEYS: public_keys,
    # Entries and the head are one transaction; where there are more, the others check the head's version.
    Capability.UPDATES: _records("updates", actions=(*_READ_ALL, *_WRITE_UPDATES)),
    Capability.READ_UPDATES: _records("updates", actions=_READ_ALL),
    Capability.START_UPDATES: _start_updates,
    Capability.FIND_UPDATE_EXECUTIONS: _find_updates,
    Capability.ANSWER_UPDATES: _answer_updates,
    Capability.IMAGE_SETS: image_sets,
    Capability.REPLAY_ORDERS: replay_orders,
    Capability.REPLAY_RESULTS: replay_results,
    # A cluster and its management cluster are one transaction.
    Capability.CLUSTERS: _records("clusters", actions=(*_READ, "dynamodb:Query", *_WRITE_CLUSTERS)),
    Capability.READ_CLUSTERS: _records("clusters", actions=(*_READ, "dynamodb:Query")),
    Capability.CLUSTER_PLANS: cluster_plans,
    Capability.CLUSTER_TASKS: cluster_tasks,
    Capability.CLUSTER_FUNCTIONS: _cluster_functions,
    Capability.START_CLUSTER_ERRORS: _start_cluster_errors,
    Capability.FIND_CLUSTER_EXECUTIONS: _find_clusters,
    Capability.ANSWER_CLUSTER_TASKS: _answer_cluster_tasks,
    Capability.UPDATE_LIMITS: _update_limits,
    Capability.OPERATORS: _operators,
    Capability.NOTIFICATIONS: _records("notifications", actions=(*_READ, *_WRITE)),
    Capability.READ_NOTIFICATIONS: _records("notifications", actions=(*_READ, "dynamodb:Query")),
    Capability.SUBSCRIPTIONS: _records("notifications", actions=(*_READ, "dynamodb:PutItem")),
    Capability.NOTIFY: _notify,
    Capability.SLACK: _slack,
    Capability.SET_UP: _set_up,
    Capability.WEBHOOK_SECRET: _webhook_secret,
}

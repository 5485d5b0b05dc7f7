"""The dashboard: waiting, running and failed deployments, quotas, and costs. docs/operations.md explains it.

AWS's own metrics are free. Other figures come from log queries when the dashboard is open, which cost by log size,
unlike custom metrics with a monthly price.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from tidegate_cdk.asl_state_machine import AslStateMachine
from tidegate_cdk.costs import runner_second
from tidegate_cdk.function_specs import FUNCTION_OF
from tidegate_cdk.messaging import Messaging
from tidegate_cdk.settings import Settings

_PERIOD = Duration.minutes(5)
_DAY = Duration.days(1)
#: Plan reviews end after a week, so older ones do not wait.
_RANGE = Duration.days(7)
_WHOLE, _HALF, _THIRD = 24, 12, 8
_REVIEW = "Wait for the plan review"
_STARTS = ("Start a runner for the plan", "Start a runner for the apply")
_WORK = ("Plan", "Apply")
#: Functions that people wait for, or that nothing else monitors; those of state machines fail their executions.
_FUNCTIONS = ("webhook", "api", "discover_roots", FUNCTION_OF["publish_check_run"], "reconcile")

#: A state's time is from its first entry to its last exit in an execution.
_SECONDS = "stats (max(event_timestamp) - min(event_timestamp)) / 1000 as seconds by execution_arn, details.name"


def dashboard_url(stack: Stack, name: str) -> str:
    """Return the dashboard's address in the console."""
    return f"https://{stack.region}.console.aws.amazon.com/cloudwatch/home?region={stack.region}#dashboards:name={name}"


class Dashboard(Construct):
    """One page for operators. It has at most 50 metrics, as larger dashboards are never free."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        alarms: Iterable[cloudwatch.Alarm],
        messaging: Messaging,
        functions: Mapping[str, lambda_.Function],
        machines: Sequence[AslStateMachine],
        api: apigateway.HttpApi,
        runner_stopped: events.Rule,
    ) -> None:
        super().__init__(scope, construct_id)
        self._messaging, self._functions, self._machines = messaging, functions, machines
        shown = cloudwatch.Dashboard(self, "Page", dashboard_name=settings.prefix, default_interval=_RANGE)
        shown.add_widgets(_text(settings), _alarms(alarms))
        shown.add_widgets(*self._waiting())
        shown.add_widgets(*self._running(runner_stopped))
        shown.add_widgets(*self._failures(api))
        shown.add_widgets(*_quotas(machines))
        shown.add_widgets(*self._cost(settings))

    def _waiting(self) -> Iterable[cloudwatch.IWidget]:
        queues = {
            "pushes and comments": self._messaging.discovery,
            "buttons": self._messaging.action,
            "check runs": self._messaging.check_run,
            "gates": self._messaging.change,
            "positions": self._messaging.positions,
            "queue positions, delayed": self._messaging.positions_later,
        }
        yield _graph(
            "Oldest message of each queue (seconds)",
            [
                each.queue.metric_approximate_age_of_oldest_message(label=label, period=_PERIOD, statistic="Maximum")
                for label, each in queues.items()
            ],
        )
        terraform = [each for each in self._machines if each.node.id == "Terraform"]
        yield _query(
            "Waiting plan reviews (in the shown time range)",
            terraform,
            f'filter details.name = "{_REVIEW}"',
            "stats latest(type) as last by execution_arn",
            'stats sum(strcontains(last, "Entered")) as waiting, count(*) as asked',
        )
        yield _graph(
            "Started executions",
            [each.machine.metric_started(label=each.node.id, period=_PERIOD) for each in self._machines],
            width=_THIRD,
        )

    def _running(self, runner_stopped: events.Rule) -> Iterable[cloudwatch.IWidget]:
        yield _query(
            "Runner starts, plans and applies (seconds)",
            self._machines,
            f"filter details.name in {_list(*_STARTS, *_WORK)}",
            _SECONDS,
            "stats count(*) as times, pct(seconds, 50) as half, pct(seconds, 90) as most, max(seconds) as longest"
            " by details.name",
            width=_HALF,
        )
        yield _graph(
            "Ended runners",
            [
                cloudwatch.Metric(
                    namespace="AWS/Events",
                    metric_name="MatchedEvents",
                    dimensions_map={"RuleName": runner_stopped.rule_name},
                    label="runners",
                    period=_PERIOD,
                    statistic="Sum",
                )
            ],
            width=6,
        )
        yield _graph(
            "From a push to its deployments (ms)",
            [
                self._functions[name].metric_duration(label=name, statistic="p90")
                for name in ("webhook", "discover_roots")
            ],
            width=6,
        )

    def _failures(self, api: apigateway.HttpApi) -> Iterable[cloudwatch.IWidget]:
        """Show internal errors, and AWS's: a failure in a user's Terraform succeeds as an execution."""
        machines = [each.machine.metric_failed(label=each.node.id, period=_PERIOD) for each in self._machines]
        late = [
            each.machine.metric_timed_out(label=f"{each.node.id}: timed out", period=_PERIOD) for each in self._machines
        ]
        yield _graph("Failed executions", [*machines, *late])
        functions = [
            self._functions[name].metric_errors(label=name, period=_PERIOD, statistic="Sum") for name in _FUNCTIONS
        ]
        dead = [
            queue.metric_approximate_number_of_messages_visible(label=f"dead letters: {name}", statistic="Maximum")
            for name, queue in self._messaging.dead_letters.items()
        ]
        yield _graph("Function errors and dead letters", [*functions, *dead])
        answers = {"all": "Count", "refused": "4xx", "failed": "5xx"}
        yield _graph(
            "Requests to the HTTP API",
            [
                cloudwatch.Metric(
                    namespace="AWS/ApiGateway",
                    metric_name=name,
                    dimensions_map={"ApiId": api.api_id},
                    label=label,
                    period=_PERIOD,
                    statistic="Sum",
                )
                for label, name in answers.items()
            ],
        )

    def _cost(self, settings: Settings) -> Iterable[cloudwatch.IWidget]:
        second = runner_second(settings.architecture)
        yield _query(
            "Runner costs in the shown time range, estimated (dollars)",
            self._machines,
            f"filter details.name in {_list(*_STARTS, *_WORK)}",
            _SECONDS,
            f"stats sum(seconds) / 3600 as hours, sum(seconds) * {second:.9f} as dollars by details.name",
            width=_HALF,
        )
        charges = cloudwatch.Metric(
            namespace="AWS/Billing",
            metric_name="EstimatedCharges",
            dimensions_map={"Currency": "USD"},
            # The only region that has it, for the whole account.
            region="us-east-1",
            label="all services",
            period=_DAY,
            statistic="Maximum",
        )
        yield _graph("Charges of the whole account this month (dollars)", [charges], width=_HALF)


def _quotas(machines: Iterable[AslStateMachine]) -> Iterable[cloudwatch.IWidget]:
    usage = cloudwatch.Metric(
        namespace="AWS/Usage",
        metric_name="ResourceCount",
        dimensions_map={"Service": "Fargate", "Type": "Resource", "Resource": "vCPU", "Class": "Standard/OnDemand"},
        label="vCPU",
        period=_PERIOD,
        statistic="Maximum",
    )
    share = cloudwatch.MathExpression(
        expression="100 * used / SERVICE_QUOTA(used)", using_metrics={"used": usage}, label="used", period=_PERIOD
    )
    yield _graph("Fargate vCPU of the account (percent of its quota)", [share])
    transitions = {"ServiceMetric": "StateTransition"}, {"APIName": "StartExecution"}
    throttled = [
        cloudwatch.Metric(
            namespace="AWS/States",
            metric_name="ThrottledEvents",
            dimensions_map=dimensions,
            label=next(iter(dimensions.values())),
            period=_PERIOD,
            statistic="Sum",
        )
        for dimensions in transitions
    ]
    late = [each.machine.metric_throttled(label=each.node.id, period=_PERIOD) for each in machines]
    yield _graph("Step Functions: throttled requests", [*throttled, *late])
    concurrent = lambda_.Function.metric_all_concurrent_executions(label="concurrent", period=_PERIOD)
    refused = lambda_.Function.metric_all_throttles(label="throttled", period=_PERIOD)
    yield _graph("Concurrent function executions of the account (quota: 1,000 unless raised)", [concurrent, refused])


def _text(settings: Settings) -> cloudwatch.IWidget:
    lines = (
        f"# {settings.prefix}",
        f"The meaning of each alarm: `{settings.docs_url}/operations.md#alarms`.",
        "Numbers from logs cover the time range selected above: select a week to see waiting reviews.",
        "Quotas and charges are for the whole account; charges require billing alerts.",
    )
    return cloudwatch.TextWidget(markdown="\n\n".join(lines), width=_HALF, height=5)


def _alarms(alarms: Iterable[cloudwatch.Alarm]) -> cloudwatch.IWidget:
    return cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=_HALF, height=5)


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric], width: int = _THIRD) -> cloudwatch.IWidget:
    axis = cloudwatch.YAxisProps(min=0, show_units=False)
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=width, height=6, left_y_axis=axis)


def _query(title: str, machines: Iterable[AslStateMachine], *lines: str, width: int = _THIRD) -> cloudwatch.IWidget:
    return cloudwatch.LogQueryWidget(
        title=title,
        log_group_names=[each.log_group.log_group_name for each in machines],
        query_lines=list(lines),
        view=cloudwatch.LogQueryVisualizationType.TABLE,
        width=width,
        height=6,
    )


def _list(*names: str) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"

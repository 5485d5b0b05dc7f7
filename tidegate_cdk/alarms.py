"""The alarms. Each describes its meaning, and names the part of docs/operations.md with the remedy.

An alarm costs for each of its metrics (docs/costs.md), so one metric counts functions with the same log line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from tidegate_cdk.asl_state_machine import AslStateMachine
from tidegate_cdk.capabilities import Capability
from tidegate_cdk.function_specs import FUNCTION_OF, SPECS
from tidegate_cdk.messaging import Messaging

_PERIOD = Duration.minutes(5)
#: Functions that publish to the audit topic, and log AuditUnavailable if that fails.
_AUDITING = tuple(spec.name for spec in SPECS if Capability.AUDIT in spec.capabilities)
#: Functions that may end a deployment with an unknown outcome.
_ENDS = ("record_result", "record_outcome", "execution_closed", "reconcile")
_ENDING = tuple(sorted({FUNCTION_OF[verb] for verb in _ENDS}))
#: The log message of tidegate.deploys.adapters.event_publisher if the event bus accepts no event.
_LOST_EVENT = "EventBridge rejected an event"
#: The contents of each dead-letter queue.
_DEAD = {
    "Queued": "Processing pushes, buttons or queue positions failed after several attempts",
    "Ordered": "Check runs, queues or gates could not be updated after several attempts",
    "Undelivered": "Delivering events to a function failed after all attempts",
}


class Alarms(Construct):
    """Alarms for operators. All go to the alarm topic.

    ``docs`` is the URL of docs/, ``dashboard`` that of the dashboard, or empty.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        prefix: str,
        functions: Mapping[str, lambda_.Function],
        messaging: Messaging,
        machines: Iterable[AslStateMachine],
        docs: str,
        dashboard: str,
    ) -> None:
        super().__init__(scope, construct_id)
        self._prefix, self._messaging, self._docs, self._dashboard = prefix, messaging, docs, dashboard
        self._action = actions.SnsAction(messaging.alarm)
        self.all: list[cloudwatch.Alarm] = []
        self._dead_letters()
        for machine in machines:
            self._failed(machine)
        self._webhook(functions["webhook"])
        self._outcome_unknown(functions)
        self._audit_failures(functions)

    def _dead_letters(self) -> None:
        for construct_id, queue in self._messaging.dead_letters.items():
            metric = queue.metric_approximate_number_of_messages_visible(period=_PERIOD, statistic="Maximum")
            self._alarm(f"{construct_id}DeadLetters", "dead-letters", _DEAD[construct_id], metric)

    def _failed(self, machine: AslStateMachine) -> None:
        """Alarm on failed executions. Their waits end long before an execution's time limit, if it has one."""
        what = f"An execution of {machine.name} failed with an internal error"
        failed = machine.machine.metric_failed(period=_PERIOD, statistic="Sum")
        self._alarm(f"{machine.node.id}Failed", "failed-executions", what, failed)

    def _webhook(self, webhook: lambda_.Function) -> None:
        errors = webhook.metric_errors(period=_PERIOD, statistic="Sum")
        throttles = webhook.metric_throttles(period=_PERIOD, statistic="Sum")
        pattern = logs.FilterPattern.string_value("$.result", "=", "failed")
        refused = self._lines(["webhook"], {"webhook": webhook}, "WebhookNotStored", pattern)
        every = _sum({"errors": errors, "throttles": throttles, "refused": refused})
        what = "Storing webhooks failed: redeliver them in the App's settings"
        self._alarm("WebhookErrors", "webhook-errors", what, every)

    def _outcome_unknown(self, functions: Mapping[str, lambda_.Function]) -> None:
        """Alarm on the event bus, where the state is published, and on the log line if that fails."""
        # Named, because the metric has the rule's name: a reference to a rule of such a bus is BUS|RULE.
        name = f"{self._prefix}-outcome-unknown"
        events.Rule(
            self,
            "OutcomeUnknownRule",
            rule_name=name,
            description="An apply ended with an unknown outcome",
            event_bus=self._messaging.bus,
            event_pattern=events.EventPattern(source=["tidegate"], detail={"state": ["outcome_unknown"]}),
            targets=[targets.SnsTopic(self._messaging.alarm, dead_letter_queue=self._messaging.undelivered)],
        )
        matched = cloudwatch.Metric(
            namespace="AWS/Events",
            metric_name="MatchedEvents",
            dimensions_map={"EventBusName": self._messaging.bus.event_bus_name, "RuleName": name},
            period=_PERIOD,
            statistic="Sum",
        )
        pattern = logs.FilterPattern.all(
            logs.FilterPattern.string_value("$.message", "=", _LOST_EVENT),
            logs.FilterPattern.string_value("$.state", "=", "outcome_unknown"),
        )
        lost = self._lines(_ENDING, functions, "OutcomeUnknownUnsaid", pattern)
        both = _sum({"matched": matched, "lost": lost})
        what = "An apply ended with an unknown outcome: its queue stays locked until somebody unlocks it"
        self._alarm("OutcomeUnknown", "outcome-unknown", what, both)

    def _audit_failures(self, functions: Mapping[str, lambda_.Function]) -> None:
        refused = self._lines(_AUDITING, functions, "AuditUnavailable", logs.FilterPattern.any_term("AuditUnavailable"))
        self._alarm(
            "AuditFailures", "audit-failures", "The audit topic refused messages, so applies do not start", refused
        )

    def _lines(
        self, names: Iterable[str], functions: Mapping[str, lambda_.Function], metric: str, pattern: logs.IFilterPattern
    ) -> cloudwatch.Metric:
        """Count matching log lines of these functions in one custom metric."""
        for name in names:
            logs.MetricFilter(
                self,
                f"{metric}{name.title().replace('_', '')}",
                log_group=functions[name].log_group,
                filter_pattern=pattern,
                metric_namespace=self._prefix,
                metric_name=metric,
                metric_value="1",
            )
        return cloudwatch.Metric(namespace=self._prefix, metric_name=metric, period=_PERIOD, statistic="Sum")

    def _alarm(self, construct_id: str, part: str, what: str, metric: cloudwatch.IMetric) -> None:
        """Make an alarm. ``part`` is the heading of docs/operations.md that says what to do."""
        links = [f"What to do: {self._docs}/operations.md#{part}"]
        if self._dashboard:
            links.append(f"Dashboard: {self._dashboard}")
        alarm = cloudwatch.Alarm(
            self,
            construct_id,
            alarm_name=f"{self._prefix}-{construct_id}",
            alarm_description="\n".join([f"{what}.", *links]),
            metric=metric,
            threshold=1,
            # Data may come after their period, when FILL was already evaluated: it is evaluated again.
            evaluation_periods=3,
            datapoints_to_alarm=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(self._action)
        self.all.append(alarm)


def _sum(metrics: Mapping[str, cloudwatch.Metric]) -> cloudwatch.MathExpression:
    """Return the sum of metrics that may have no data: without FILL, a missing one hides all."""
    return cloudwatch.MathExpression(
        expression=" + ".join(f"FILL({name}, 0)" for name in metrics), using_metrics=dict(metrics), period=_PERIOD
    )

"""What starts functions: queues, events of Step Functions and ECS, and schedules."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_lambda_event_sources import SqsEventSource
from constructs import Construct

from tidegate.notifications.rules.notice import KINDS
from tidegate_cdk.asl_state_machine import AslStateMachine
from tidegate_cdk.function_specs import FUNCTION_OF
from tidegate_cdk.messaging import Messaging
from tidegate_cdk.plan_functions import FAILED_CALL
from tidegate_cdk.runners import Runners

#: The reconciler handles what was missed for more than a minute, within five more minutes.
_RECONCILE_EVERY = Duration.minutes(5)
#: Concurrent root discoveries: each clones from the VCS provider.
_DISCOVERIES = 10


class Triggers(Construct):
    """Connects events to the functions that process them."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        functions: Mapping[str, lambda_.Function],
        messaging: Messaging,
        machines: tuple[AslStateMachine, ...],
        runners: Runners,
        beginnings: tuple[str, ...] = (),
        plans_on_lambda: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self._functions, self._messaging = functions, messaging
        self._from_queues()
        self._rule(
            "ExecutionClosed",
            "An execution failed, was stopped or timed out",
            "execution_closed",
            events.EventPattern(
                source=["aws.states"],
                detail_type=["Step Functions Execution Status Change"],
                detail={
                    "status": ["FAILED", "ABORTED", "TIMED_OUT"],
                    "stateMachineArn": [
                        *(machine.machine.state_machine_arn for machine in machines),
                        *events.Match.any_of(*(events.Match.prefix(each) for each in beginnings)),
                    ],
                },
            ),
        )
        self.runner_stopped = self._rule(
            "RunnerStopped",
            "A runner stopped: its waiting task token fails immediately",
            "runner_stopped",
            events.EventPattern(
                source=["aws.ecs"],
                detail_type=["ECS Task State Change"],
                detail={"lastStatus": ["STOPPED"], "clusterArn": [runners.cluster.cluster_arn]},
            ),
        )
        if plans_on_lambda:
            self._rule(
                "CallFailed",
                "An invocation of a plan function failed: its waiting task token fails immediately",
                "runner_stopped",
                events.EventPattern(source=[FAILED_CALL[0]], detail_type=[FAILED_CALL[1]]),
                messaging.bus,
            )
        if messaging.notification:
            self._notify(messaging.notification.queue)
        self._on_schedule()

    def _from_queues(self) -> None:
        messaging = self._messaging
        self._function("discover_roots").add_event_source(
            SqsEventSource(
                messaging.discovery.queue, batch_size=1, report_batch_item_failures=True, max_concurrency=_DISCOVERIES
            )
        )
        self._function("answer_button").add_event_source(
            SqsEventSource(messaging.action.queue, batch_size=1, report_batch_item_failures=True)
        )
        self._function("publish_check_run").add_event_source(
            SqsEventSource(messaging.check_run.queue, batch_size=5, report_batch_item_failures=True, max_concurrency=5)
        )
        self._function("open_gates").add_event_source(
            SqsEventSource(messaging.change.queue, batch_size=10, report_batch_item_failures=True, max_concurrency=5)
        )
        for queue in (messaging.positions.queue, messaging.positions_later.queue):
            self._function("refresh_positions").add_event_source(
                SqsEventSource(queue, batch_size=1, report_batch_item_failures=True, max_concurrency=5)
            )

    def _notify(self, queue: sqs.Queue) -> None:
        """Send events that people may be told of to their queue, each with the kind of its message."""
        self._function("notify").add_event_source(
            SqsEventSource(queue, batch_size=1, report_batch_item_failures=True, max_concurrency=5)
        )
        for construct_id, kind, detail_type, detail in (
            ("DeploymentNotified", "deployment_changed", "Deployment changed", {"state": sorted(KINDS)}),
            ("ExpiringNotified", "review_expires_soon", "Review expires soon", None),
            ("LockNotified", "queue_locked", "Queue locked", None),
            ("DriftNotified", "drift_found", "Drift", {"drifted": events.Match.greater_than(0)}),
        ):
            message = events.RuleTargetInput.from_object(
                {"kind": kind, "detail": events.EventField.from_path("$.detail")}
            )
            events.Rule(
                self,
                construct_id,
                description=f"Notifications of {detail_type!r} events",
                event_bus=self._messaging.bus,
                event_pattern=events.EventPattern(source=["tidegate"], detail_type=[detail_type], detail=detail),
                targets=[targets.SqsQueue(queue, message=message, dead_letter_queue=self._messaging.undelivered)],
            )

    def _rule(
        self,
        construct_id: str,
        description: str,
        verb: str,
        pattern: events.EventPattern,
        bus: events.IEventBus | None = None,
    ) -> events.Rule:
        return events.Rule(
            self,
            construct_id,
            description=description,
            event_bus=bus,
            event_pattern=pattern,
            targets=[self._target(verb)],
        )

    def _on_schedule(self) -> None:
        events.Rule(
            self,
            "Reconcile",
            description="Reconciles what events missed",
            schedule=events.Schedule.rate(_RECONCILE_EVERY),
            targets=[self._target("reconcile")],
        )

    def _function(self, verb: str) -> lambda_.Function:
        return self._functions[FUNCTION_OF[verb]]

    def _target(self, verb: str) -> targets.LambdaFunction:
        return targets.LambdaFunction(
            self._function(verb), dead_letter_queue=self._messaging.undelivered, retry_attempts=20
        )

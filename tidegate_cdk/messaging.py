"""Queues, topics and the bus. Undeliverable messages go to one of three dead-letter queues with alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from tidegate.notifications.rules.destination import Destination

#: Six times the time limit of the queue's function (AWS's advice), which leaves room for throttled starts. Once
#: discovery runs, it holds its message for much less (docs/decisions/0205).
_DISCOVERY_VISIBILITY = Duration.seconds(6 * 300)
_ACTION_VISIBILITY = Duration.seconds(6 * 29)
_VISIBILITY = Duration.seconds(6 * 60)
#: Messages about a queue within one second are duplicates; after another second, plus one for clock differences, all
#: their changes can be read.
_POSITIONS_DELAY = Duration.seconds(2)
_KEPT = Duration.days(14)


@dataclass(frozen=True, slots=True)
class QueueWithDeadLetters:
    """A queue and its dead-letter queue."""

    queue: sqs.Queue
    dead: sqs.Queue


class Messaging(Construct):
    """All queues, topics and buses, between functions and to people."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        prefix: str,
        alarm_email: str,
        destinations: Sequence[Destination] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        # One for all queues of a kind, as an alarm has a monthly cost: each message names its queue.
        self.dead = self._dead("Dead", None)
        self.dead_in_order = self._dead("DeadInOrder", f"{prefix}-dead.fifo")
        # While the VCS provider is down, attempts come after 1, 2, 4, … seconds: the last one after a quarter of an
        # hour.
        self.discovery = self._standard("Discovery", _DISCOVERY_VISIBILITY, attempts=11)
        self.action = self._standard("Action", _ACTION_VISIBILITY, attempts=11)
        # The VCS provider may refuse for a long time (hourly limits): many attempts before a check run is given up.
        self.check_run = self._fifo("CheckRun", f"{prefix}-check-run", attempts=30)
        self.positions = self._fifo("Positions", f"{prefix}-positions", attempts=8, delay=_POSITIONS_DELAY)
        self.change = self._fifo("Change", f"{prefix}-change", attempts=8)
        self.positions_later = self._standard("PositionsLater", _VISIBILITY, attempts=8)
        self.undelivered = self._dead("Undelivered", None)
        self.audit = sns.Topic(
            self,
            "Audit",
            topic_name=f"{prefix}-audit.fifo",
            # Each message has its event's id: a repeated one is delivered once, in its deployment's order.
            fifo=True,
            content_based_deduplication=False,
            enforce_ssl=True,
            master_key=kms.Alias.from_alias_name(self, "SnsKey", "alias/aws/sns"),
        )
        self.alarm = sns.Topic(self, "Alarm", enforce_ssl=True)
        self.alarm.add_to_resource_policy(_alarms_may_publish(self.alarm))
        if alarm_email:
            self.alarm.add_subscription(subscriptions.EmailSubscription(alarm_email))
        self.bus = events.EventBus(self, "Bus", event_bus_name=prefix)
        # Without destinations, nothing polls a queue for notifications.
        self.notification = self._standard("Notification", _VISIBILITY, attempts=8) if destinations else None
        self.email_topics = [self._email(prefix, each) for each in destinations if each.email]

    @property
    def dead_letters(self) -> dict[str, sqs.Queue]:
        """The dead-letter queues by content: messages of standard and FIFO queues, and events."""
        return {"Queued": self.dead, "Ordered": self.dead_in_order, "Undelivered": self.undelivered}

    def _email(self, prefix: str, destination: Destination) -> sns.Topic:
        """A topic whose only subscriber confirms by e-mail: it costs nothing while nothing is sent."""
        topic = sns.Topic(
            self, f"Email-{destination.name}", topic_name=topic_name(prefix, destination.name), enforce_ssl=True
        )
        topic.add_subscription(subscriptions.EmailSubscription(destination.email))
        return topic

    def _standard(self, construct_id: str, visibility: Duration, *, attempts: int) -> QueueWithDeadLetters:
        queue = sqs.Queue(
            self,
            construct_id,
            visibility_timeout=visibility,
            retention_period=_KEPT,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=attempts),
        )
        return QueueWithDeadLetters(queue, self.dead)

    def _fifo(
        self,
        construct_id: str,
        name: str,
        *,
        attempts: int,
        delay: Duration | None = None,
    ) -> QueueWithDeadLetters:
        queue = sqs.Queue(
            self,
            construct_id,
            queue_name=f"{name}.fifo",
            fifo=True,
            # Messages may be identical ("update this check run") and each counts: the sender sets deduplication ids.
            content_based_deduplication=False,
            deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP,
            fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
            visibility_timeout=_VISIBILITY,
            delivery_delay=delay,
            retention_period=_KEPT,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead_in_order, max_receive_count=attempts),
        )
        return QueueWithDeadLetters(queue, self.dead_in_order)

    def _dead(self, construct_id: str, fifo_name: str | None) -> sqs.Queue:
        return sqs.Queue(
            self,
            construct_id,
            queue_name=fifo_name,
            fifo=True if fifo_name else None,
            retention_period=_KEPT,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )


def topic_name(prefix: str, destination: str) -> str:
    """Return the name of the topic of an e-mail destination."""
    return f"{prefix}-notify-{destination}"


def _alarms_may_publish(topic: sns.ITopic) -> iam.PolicyStatement:
    """Allow alarms to publish: a topic's own policy replaces SNS's default, which allows the account's alarms.

    Rules of EventBridge get their statement from their target. It has no condition: EventBridge supports none here.
    """
    return iam.PolicyStatement(
        sid="AllowAlarms",
        principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
        actions=["sns:Publish"],
        resources=[topic.topic_arn],
        conditions={"StringEquals": {"aws:SourceAccount": Stack.of(topic).account}},
    )

"""Webhook deliveries in DynamoDB and on their queues, and the webhook's secrets, without boto3.

The webhook function handles every event of every repository, so its start and work are kept small.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tidegate.aws.client import Aws, AwsError
from tidegate.ports.deliveries import Delivery, DeliveryOutcome
from tidegate.rules.errors import NotFound
from tidegate.rules.timestamp import timestamp_from, timestamp_text

#: Deliveries expire after a week: GitHub redelivers for three days.
KEEP_SECONDS = 7 * 24 * 3600
#: The index of open work, and the partition of deliveries in it.
OPEN_INDEX = "open"
OPEN_DELIVERIES = "delivery"

#: Secrets are read again after five minutes, and at most every 30 s after an invalid signature: enough for a rotation,
#: and strangers cannot use up the quota of Secrets Manager.
SECRETS_SECONDS = 300.0
REFRESH_SECONDS = 30.0

_COMPACT = json.JSONEncoder(separators=(",", ":"))


def to_message(delivery: Delivery) -> str:
    """Return a delivery's queue message: ``tidegate.messages.queues.Event``, without pydantic."""
    content = {
        "kind": delivery.event,
        "delivery": delivery.id,
        "fields": dict(delivery.fields),
        "received_at": timestamp_text(delivery.received_at),
    }
    return _COMPACT.encode(content)


class DynamoDeliveries:
    """The port ``Deliveries`` on the table's items ``delivery#ID`` / ``record``."""

    def __init__(self, aws: Aws, table: str, now: Callable[[], float] = time.time) -> None:
        self._aws = aws
        self._table = table
        self._now = now

    def store(self, delivery: Delivery) -> bool:
        item = {
            **_key(delivery.id),
            "event": {"S": delivery.event},
            "fields": {"S": _COMPACT.encode(dict(delivery.fields))},
            "received_at": {"S": timestamp_text(delivery.received_at)},
            "open": {"S": OPEN_DELIVERIES},
            "open_since": {"S": timestamp_text(delivery.received_at)},
            "expires_at": {"N": str(int(self._now()) + KEEP_SECONDS)},
        }
        try:
            self._call("PutItem", {"Item": item, "ConditionExpression": "attribute_not_exists(pk)"})
        except AwsError as error:
            if error.code == _CONDITION_FAILED:
                return False
            raise
        return True

    def get(self, delivery: str) -> Delivery:
        return _read(self._item(delivery))

    def is_queued(self, delivery: str) -> bool:
        return "open" not in self._item(delivery)

    def take_over(self, delivery: str, now: datetime, before: datetime) -> Delivery | None:
        change = {
            "Key": _key(delivery),
            "UpdateExpression": "SET open_since = :now",
            "ConditionExpression": "attribute_exists(#open) AND open_since < :before",
            "ExpressionAttributeNames": _OPEN,
            "ExpressionAttributeValues": {
                ":now": {"S": timestamp_text(now)},
                ":before": {"S": timestamp_text(before)},
            },
            "ReturnValues": "ALL_NEW",
        }
        try:
            return _read(self._call("UpdateItem", change)["Attributes"])
        except AwsError as error:
            if error.code == _CONDITION_FAILED:
                return None
            raise

    def mark_queued(self, delivery: str) -> None:
        self._update(delivery, {"UpdateExpression": "REMOVE #open, open_since", "ExpressionAttributeNames": _OPEN})

    def conclude(self, delivery: str, outcome: str, deployments: Sequence[str] = ()) -> None:
        values = {":outcome": {"S": outcome}, ":deployments": {"L": [{"S": each} for each in deployments]}}
        change = "SET outcome = :outcome, deployments = :deployments"
        self._update(delivery, {"UpdateExpression": change, "ExpressionAttributeValues": values})

    def outcome(self, delivery: str) -> DeliveryOutcome | None:
        item = self._item(delivery)
        if "outcome" not in item:
            return None
        listed = item.get("deployments", {"L": []})["L"]
        return DeliveryOutcome(item["outcome"]["S"], tuple(each["S"] for each in listed))

    def bind(self, delivery: str, commit: str) -> str:
        update = {
            "UpdateExpression": "SET bound_to = if_not_exists(bound_to, :commit)",
            "ExpressionAttributeValues": {":commit": {"S": commit}},
            "ReturnValues": "ALL_NEW",
        }
        bound: str = self._update(delivery, update)["Attributes"]["bound_to"]["S"]
        return bound

    def claim(self, turn: str, delivery: str) -> bool:
        claim = {
            "Key": {"pk": {"S": f"delivery#{turn}"}, "sk": {"S": "turn"}},
            "UpdateExpression": "SET claimed_by = if_not_exists(claimed_by, :delivery), expires_at = :end",
            "ExpressionAttributeValues": {
                ":delivery": {"S": delivery},
                ":end": {"N": str(int(self._now()) + KEEP_SECONDS)},
            },
            "ReturnValues": "ALL_NEW",
        }
        claimed_by: str = self._call("UpdateItem", claim)["Attributes"]["claimed_by"]["S"]
        return claimed_by == delivery

    def unqueued(self, before: datetime) -> Iterable[Delivery]:
        query: dict[str, Any] = {
            "IndexName": OPEN_INDEX,
            "KeyConditionExpression": "#open = :open AND open_since < :before",
            "ExpressionAttributeNames": _OPEN,
            "ExpressionAttributeValues": {":open": {"S": OPEN_DELIVERIES}, ":before": {"S": timestamp_text(before)}},
        }
        while True:
            answer = self._call("Query", query)
            yield from (_read(item) for item in answer.get("Items", []))
            if "LastEvaluatedKey" not in answer:
                return
            query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _item(self, delivery: str) -> Mapping[str, Any]:
        item: Mapping[str, Any] | None = self._call("GetItem", {"Key": _key(delivery), "ConsistentRead": True}).get(
            "Item"
        )
        if item is None:
            raise NotFound("delivery", delivery)
        return item

    def _update(self, delivery: str, update: Mapping[str, Any]) -> dict[str, Any]:
        change = {"Key": _key(delivery), "ConditionExpression": "attribute_exists(pk)", **update}
        try:
            return self._call("UpdateItem", change)
        except AwsError as error:
            if error.code == _CONDITION_FAILED:
                raise NotFound("delivery", delivery) from error
            raise

    def _call(self, operation: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        return self._aws.call("dynamodb", operation, {"TableName": self._table, **payload})


_OPEN = {"#open": "open"}
_CONDITION_FAILED = "ConditionalCheckFailedException"


def _key(delivery: str) -> dict[str, Any]:
    return {"pk": {"S": f"delivery#{delivery}"}, "sk": {"S": "record"}}


def _read(item: Mapping[str, Any]) -> Delivery:
    return Delivery(
        item["pk"]["S"].removeprefix("delivery#"),
        item["event"]["S"],
        json.loads(item["fields"]["S"]),
        timestamp_from(item["received_at"]["S"]),
    )


#: Kinds of events that need the repository's files, and kinds that are answered on a check run.
_DISCOVERED = (
    "push",
    "head",
    "issue_comment",
    "manual",
    "rerun",
    "retry",
    "check_suite",
    "drift",
    "detect_drift",
    "pull_request",
    "pull_request_review",
    "merge_group",
    "replan",
)
_ANSWERED = ("check_run", "checks", "decision")


def queues_of_events(discovery: str, actions: str) -> dict[str, str]:
    """Return the queue (a URL) of each kind of event."""
    return {**dict.fromkeys(_DISCOVERED, discovery), **dict.fromkeys(_ANSWERED, actions)}


class SqsEventQueue:
    """The port ``EventQueue``: ``queues`` gives the URL of the queue of each kind of event."""

    def __init__(self, aws: Aws, queues: Mapping[str, str]) -> None:
        self._aws = aws
        self._queues = queues

    def send(self, delivery: Delivery) -> None:
        message = {"QueueUrl": self._queues[delivery.event], "MessageBody": to_message(delivery)}
        self._aws.call("sqs", "SendMessage", message)


class StoredWebhookSecrets:
    """The port ``WebhookSecrets`` on a secret of Secrets Manager: ``{"secrets": ["current", "previous"]}``.

    A missing or malformed secret counts as none. If Secrets Manager does not answer, the cached value is used; without
    one, the error is raised.
    """

    def __init__(self, aws: Aws, name: str, now: Callable[[], float] = time.monotonic) -> None:
        self._aws = aws
        self._name = name
        self._now = now
        self._known: tuple[str, ...] | None = None
        self._read_at = 0.0

    def current(self) -> tuple[str, ...]:
        if self._known is not None and self._now() - self._read_at < SECRETS_SECONDS:
            return self._known
        return self._read()

    def refreshed(self) -> tuple[str, ...]:
        if self._known is not None and self._now() - self._read_at < REFRESH_SECONDS:
            return self._known
        return self._read()

    def _read(self) -> tuple[str, ...]:
        try:
            self._known = _secrets(self._aws.call("secretsmanager", "GetSecretValue", {"SecretId": self._name}))
        except AwsError as error:
            if error.code == "ResourceNotFoundException":
                self._known = ()
            elif self._known is None:
                raise
        self._read_at = self._now()
        return self._known


def _secrets(answer: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        listed = json.loads(answer["SecretString"])["secrets"]
    except (KeyError, TypeError, ValueError):
        return ()
    return tuple(secret for secret in listed if isinstance(secret, str) and secret) if isinstance(listed, list) else ()

"""Notifications: items of the partition ``notifications#OWNER/REPO``.

``#subscriptions`` says who is notified of what. ``delivery#ID`` is a message, for two weeks.
``messages#DESTINATION#WINDOW`` counts messages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import Table, at_version
from tidegate.notifications.rules.delivery import NotificationDelivery
from tidegate.notifications.rules.subscription import Subscriptions
from tidegate.rules.timestamp import timestamp_text

_SUBSCRIPTIONS, _DELIVERY, _MESSAGES, _RECORD = "#subscriptions", "delivery#", "messages#", "record"
KEPT_SECONDS, _COUNTED_SECONDS = 14 * 24 * 3600, 24 * 3600


class DynamoNotifications:
    """The port ``Notifications``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._table, self._now = Table(client, table), now

    def subscriptions(self, repository: str) -> Subscriptions:
        item = self._table.get(f"The subscriptions of {repository}", _pk(repository), _SUBSCRIPTIONS)
        return Subscriptions(repository) if item is None else unpack(Subscriptions, item[_RECORD])

    def keep_subscriptions(self, subscriptions: Subscriptions) -> None:
        item = {"pk": _pk(subscriptions.repository), "sk": _SUBSCRIPTIONS, _RECORD: pack(subscriptions)}
        self._table.put(f"The subscriptions of {subscriptions.repository}", item)

    def delivery(self, repository: str, identifier: str) -> NotificationDelivery | None:
        item = self._table.get(f"The notification {identifier}", _pk(repository), f"{_DELIVERY}{identifier}")
        return None if item is None else unpack(NotificationDelivery, item[_RECORD])

    def save(self, delivery: NotificationDelivery) -> NotificationDelivery:
        saved = replace(delivery, version=delivery.version + 1)
        key = {"pk": _pk(delivery.repository), "sk": f"{_DELIVERY}{delivery.id}"}
        item = {**key, _RECORD: pack(saved), "version": saved.version, "expires_at": int(self._now()) + KEPT_SECONDS}
        self._table.put(f"The notification {delivery.id}", item, at_version(delivery.version))
        return saved

    def count_message(self, repository: str, destination: str, window: datetime) -> int:
        change = {
            "UpdateExpression": "SET expires_at = :expires ADD messages :one",
            "ExpressionAttributeValues": to_item({":expires": int(self._now()) + _COUNTED_SECONDS, ":one": 1}),
        }
        sk = f"{_MESSAGES}{destination}#{timestamp_text(window)}"
        before = self._table.update(f"The number of messages to {destination}", _pk(repository), sk, change)
        return int(before.get("messages", 0)) + 1

    def deliveries(self, repository: str, limit: int) -> Sequence[NotificationDelivery]:
        items = self._table.query(
            f"The notifications of {repository}",
            limit=limit,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues=to_item({":pk": _pk(repository), ":sk": _DELIVERY}),
            ScanIndexForward=False,
        )
        return [unpack(NotificationDelivery, item[_RECORD]) for item in items]


def _pk(repository: str) -> str:
    return f"notifications#{repository}"

"""The notification queue."""

from __future__ import annotations

from typing import Any

from tidegate.aws.boto import cloud_errors
from tidegate.messages.queues import DeliverNotification


class SqsNotificationQueue:
    """The port ``NotificationQueue``: ``queue`` is the URL of a standard queue."""

    def __init__(self, client: Any, queue: str) -> None:
        self._client, self._queue = client, queue

    def deliver(self, repository: str, delivery: str, attempt: int, seconds: int = 0) -> None:
        message = DeliverNotification(repository=repository, delivery=delivery, attempt=attempt)
        with cloud_errors("SQS"):
            self._client.send_message(QueueUrl=self._queue, MessageBody=message.body(), DelaySeconds=seconds)

"""Delay messages after temporary failures: an SQS message returns when the VCS provider asks."""

from __future__ import annotations

from typing import Any

from tidegate.aws.boto import cloud_errors

#: Seconds before the second attempt without a given time; doubled at each further one.
FIRST_PAUSE = 1
#: Seconds between attempts at most: a check run is up to date 15 minutes after the VCS provider is back.
LONGEST_PAUSE = 900


def pause_before(attempt: int, asked: int | None) -> int:
    """Return the seconds to wait after the ``attempt``-th failure (from 1), ``asked`` by the VCS provider or not."""
    if asked is not None:
        return max(1, min(asked, LONGEST_PAUSE))
    return doubled(FIRST_PAUSE, attempt)


def doubled(first: int, attempt: int) -> int:
    """Return the seconds for the ``attempt``-th (from 1): ``first``, then double each time, up to LONGEST_PAUSE."""
    return int(min(first * 2 ** min(attempt - 1, 10), LONGEST_PAUSE))


class QueueVisibility:
    """Postpones messages that were received."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def postpone(self, queue: str, receipt: str, seconds: int) -> None:
        """Hide a received message of the queue (a URL) for this many seconds."""
        with cloud_errors("SQS"):
            self._client.change_message_visibility(QueueUrl=queue, ReceiptHandle=receipt, VisibilityTimeout=seconds)

"""SQS event source mappings: pollers that sleep until a message comes, and give batches to functions.

They call SQS with the function's own role, as Lambda does, so a missing permission shows. Up to five
batches of a standard queue run at once; of a FIFO queue one for each message group (moto hands out a
group's next message only when the one before is gone).
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from moto.sqs.models import Queue

from tidegate_local.latency import LATENCY
from tidegate_local.processes.lambdas import Function, Result

_CONCURRENCY = 5
_LOOK_SECONDS = 2.0
"""Lambda's pollers ask all the time. While a queue holds messages, these look so often at least: what was passed over,
as its group was busy, has no time of its own at which it could be seen."""
_ATTRIBUTE_NAMES = ["All"]


@dataclass(frozen=True, slots=True)
class Mapped:
    """An event source mapping of the template."""

    queue: Queue
    function: Function
    batch_size: int
    partial_failures: bool


class Poller:
    """Polls one queue for one function."""

    def __init__(self, mapped: Mapped, sqs: Any, invoke: Callable[[str, bytes], Result], region: str) -> None:
        self._mapped, self._sqs, self._invoke, self._region = mapped, sqs, invoke, region
        self._url = f"http://sqs/{mapped.queue.account_id}/{mapped.queue.name}"
        self._signal = threading.Event()
        self._signal.set()
        self._closing = False
        self._slots = threading.Semaphore(_CONCURRENCY)
        self._workers = ThreadPoolExecutor(_CONCURRENCY, thread_name_prefix=f"batch-{mapped.queue.name}")
        self._thread = threading.Thread(target=self._run, name=f"poller-{mapped.queue.name}", daemon=True)

    @property
    def queue_name(self) -> str:
        return str(self._mapped.queue.name)

    def start(self) -> None:
        """Begin to poll. Raise ClientError when the function's role may not see the queue, as Lambda does."""
        self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=_ATTRIBUTE_NAMES)
        self._thread.start()

    def wake(self) -> None:
        """Look at the queue now."""
        self._signal.set()

    def close(self) -> None:
        """Stop polling; running batches are left to end."""
        self._closing = True
        self._signal.set()
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        while not self._closing:
            self._signal.wait(self._until_next())
            self._signal.clear()
            self._drain()

    def _until_next(self) -> float | None:
        """Return the seconds until a message may be seen that cannot be yet; None: there is no message."""
        now, times = time.time() * 1000, self._times()
        later = [at for at in times if at > now]
        return min(_LOOK_SECONDS, (min(later) - now) / 1000 + 0.01 if later else _LOOK_SECONDS) if times else None

    def _times(self) -> list[float]:
        """Return since when, or from when on, each message can be seen (epoch milliseconds)."""
        messages = list(self._mapped.queue._messages)  # noqa: SLF001 - moto tells their times nowhere else.
        return [max(item.visible_at or 0, item.delayed_until or 0) for item in messages]

    def _drain(self) -> None:
        while not self._closing and any(at <= time.time() * 1000 for at in self._times()):
            self._slots.acquire()
            messages = self._receive()
            if not messages:
                self._slots.release()
                return
            self._workers.submit(self._process, messages)

    def _receive(self) -> list[Mapping[str, Any]]:
        try:
            answer = self._sqs.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=min(10, self._mapped.batch_size),
                MessageSystemAttributeNames=_ATTRIBUTE_NAMES,
                MessageAttributeNames=_ATTRIBUTE_NAMES,
                WaitTimeSeconds=0,
            )
        except (ClientError, BotoCoreError):
            if not self._closing:
                threading.Timer(1, self._signal.set).start()
            return []
        return list(answer.get("Messages", []))

    def _process(self, messages: list[Mapping[str, Any]]) -> None:
        LATENCY.wait("sqs_fifo" if self.queue_name.endswith(".fifo") else "sqs_standard", self.queue_name)
        try:
            event = {"Records": [self._record(message) for message in messages]}
            result = self._invoke(self._mapped.function.name, json.dumps(event).encode())
            failed = self._failed(result, messages)
            done = [message for message in messages if message["MessageId"] not in failed]
            with contextlib.suppress(ClientError, BotoCoreError):
                self._delete(done)
        finally:
            self._slots.release()
            self._signal.set()

    def _failed(self, result: Result, messages: list[Mapping[str, Any]]) -> set[str]:
        every = {str(message["MessageId"]) for message in messages}
        if result.error is not None:
            return every
        if not self._mapped.partial_failures:
            return set()
        answer = json.loads(result.payload or b"null")
        failures = answer.get("batchItemFailures") if isinstance(answer, dict) else None
        identifiers = {item.get("itemIdentifier") for item in failures or []}
        return every if identifiers - every else identifiers

    def _delete(self, messages: list[Mapping[str, Any]]) -> None:
        if messages:
            entries = [
                {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]} for index, message in enumerate(messages)
            ]
            self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)

    def _record(self, message: Mapping[str, Any]) -> dict[str, Any]:
        attributes = message.get("MessageAttributes", {})
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message.get("Attributes", {}),
            "messageAttributes": {
                name: {"stringValue": value.get("StringValue"), "dataType": value["DataType"]}
                for name, value in attributes.items()
            },
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self._mapped.queue.queue_arn,
            "awsRegion": self._region,
        }

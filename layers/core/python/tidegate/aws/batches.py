"""Process SQS batches message by message, with backoff for temporary failures.

A message that the VCS provider delays returns at the given time. After a failure of AWS or a conflict, it returns
within seconds at first; otherwise it would stay hidden for the function's visibility time-out, which is minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    SqsFifoPartialProcessor,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from tidegate.aws.hold import held
from tidegate.aws.visibility import LONGEST_PAUSE, pause_before
from tidegate.rules.errors import AuditUnavailable, CloudUnavailable, Conflict, ForgeUnavailable

#: Failures that may soon succeed, and the number of quick retries: after that, the queue's own delay applies.
_PASSING = (AuditUnavailable, CloudUnavailable, Conflict)
_SOON = 4

logger = Logger(service="tidegate", child=True)

Postpone = Callable[[str, int], None]


def take_all(event: Mapping[str, Any], context: Any, take: Callable[[str], object], postpone: Postpone) -> Any:
    """Process each message of a standard queue; return those that SQS delivers again."""
    return _take_all(event, context, _with_backoff(take, postpone))


def release_held_slot(event: Mapping[str, Any], context: Any, take: Callable[[str], object], postpone: Postpone) -> Any:
    """Process the message of a standard queue as ``take_all`` does; it also returns soon if the function dies."""
    return _take_all(event, context, _with_backoff(take, postpone, hold=True))


def _take_all(event: Mapping[str, Any], context: Any, take_record: Callable[[SQSRecord], object]) -> Any:
    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(dict(event), take_record, processor, context)


def take_in_order(event: Mapping[str, Any], context: Any, take: Callable[[str], object], postpone: Postpone) -> Any:
    """Process the messages of a FIFO queue; after a failure, the rest of its group is skipped.

    Messages behind a delayed one return with it: hidden for longer, they would block their group.
    """
    put_off: dict[str, int] = {}

    def remember(receipt: str, seconds: int) -> None:
        postpone(receipt, seconds)
        put_off[receipt] = seconds

    processor = SqsFifoPartialProcessor(skip_group_on_error=True)
    processor.raise_on_entire_batch_failure = False
    answer = process_partial_response(dict(event), _with_backoff(take, remember), processor, context)
    for receipt, seconds in _behind(event["Records"], put_off):
        postpone(receipt, seconds)
    return answer


def _behind(records: Iterable[Mapping[str, Any]], put_off: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield the receipts of messages behind a delayed one, and the delay."""
    groups: dict[str, int] = {}
    for record in records:
        receipt, group = record["receiptHandle"], record["attributes"]["MessageGroupId"]
        if receipt in put_off:
            groups[group] = put_off[receipt]
        elif group in groups:
            yield receipt, groups[group]


def _with_backoff(
    take: Callable[[str], object], postpone: Postpone, *, hold: bool = False
) -> Callable[[SQSRecord], object]:
    """Return a processor of records that hides a message for as long as the VCS provider asks."""

    def take_record(record: SQSRecord) -> object:
        attempt = int(record.attributes.approximate_receive_count)
        try:
            with held(partial(postpone, record.receipt_handle), attempt) if hold else nullcontext():
                return take(record.body)
        except Exception as error:
            pause = _pause(attempt, error)
            if pause is None:
                logger.exception("failed", extra={"message_id": record.message_id})
                if hold:  # A hold hides it for seconds only, in case the function dies: this one did not.
                    postpone(record.receipt_handle, LONGEST_PAUSE)
            else:
                postpone(record.receipt_handle, pause)
                logger.warning("postponed", extra={"seconds": pause, "problem": ", ".join(map(str, _parts(error)))})
            raise

    return take_record


def _pause(attempt: int, error: Exception) -> int | None:
    """Return the delay in seconds after a failed attempt (from 1); None for the queue's own delay."""
    parts = list(_parts(error))
    put_off = [each for each in parts if isinstance(each, ForgeUnavailable)]
    if put_off:
        return pause_before(attempt, max((each.retry_after for each in put_off if each.retry_after), default=None))
    if attempt <= _SOON and all(isinstance(each, _PASSING) for each in parts):
        return pause_before(attempt, None)
    return None


def _parts(error: Exception) -> Iterator[Exception]:
    """Yield a group's exceptions, or else the exception itself."""
    if not isinstance(error, ExceptionGroup):
        yield error
        return
    for each in error.exceptions:
        yield from _parts(each)

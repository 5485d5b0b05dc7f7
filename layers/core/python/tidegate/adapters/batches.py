"""How functions take messages off SQS: each by itself, and what the forge puts off comes back in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    SqsFifoPartialProcessor,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from tidegate.adapters.patience import pause_before
from tidegate.domain.errors import ForgeUnavailable

logger = Logger(service="tidegate", child=True)

Postpone = Callable[[str, int], None]


def take_all(event: Mapping[str, Any], context: Any, take: Callable[[str], object], postpone: Postpone) -> Any:
    """Take each message of a standard queue; return what SQS delivers again."""
    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(dict(event), _patient(take, postpone), processor, context)


def take_in_order(event: Mapping[str, Any], context: Any, take: Callable[[str], object], postpone: Postpone) -> Any:
    """Take the messages of a FIFO queue; in a group, nothing is taken after the first that failed.

    What stands behind a message that was put off comes back with it: hidden for longer, it would hold up its group.
    """
    put_off: dict[str, int] = {}

    def remember(receipt: str, seconds: int) -> None:
        postpone(receipt, seconds)
        put_off[receipt] = seconds

    processor = SqsFifoPartialProcessor(skip_group_on_error=True)
    processor.raise_on_entire_batch_failure = False
    answer = process_partial_response(dict(event), _patient(take, remember), processor, context)
    for receipt, seconds in _behind(event["Records"], put_off):
        postpone(receipt, seconds)
    return answer


def _behind(records: Iterable[Mapping[str, Any]], put_off: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield the receipts of messages behind one that was put off, and for how long that was."""
    groups: dict[str, int] = {}
    for record in records:
        receipt, group = record["receiptHandle"], record["attributes"]["MessageGroupId"]
        if receipt in put_off:
            groups[group] = put_off[receipt]
        elif group in groups:
            yield receipt, groups[group]


def _patient(take: Callable[[str], object], postpone: Postpone) -> Callable[[SQSRecord], object]:
    """Return what takes a record: when the forge puts it off, the message stays hidden for that long."""

    def take_record(record: SQSRecord) -> object:
        try:
            return take(record.body)
        except ForgeUnavailable as error:
            pause = pause_before(int(record.attributes.approximate_receive_count), error.retry_after)
            postpone(record.receipt_handle, pause)
            logger.warning("postponed", extra={"seconds": pause, "problem": str(error)})
            raise
        except Exception:
            logger.exception("failed", extra={"message_id": record.message_id})
            raise

    return take_record

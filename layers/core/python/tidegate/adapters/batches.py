"""How functions take messages off SQS: each by itself, and what the forge puts off comes back in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """Take the messages of a FIFO queue; in a group, nothing is taken after the first that failed."""
    processor = SqsFifoPartialProcessor(skip_group_on_error=True)
    processor.raise_on_entire_batch_failure = False
    return process_partial_response(dict(event), _patient(take, postpone), processor, context)


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

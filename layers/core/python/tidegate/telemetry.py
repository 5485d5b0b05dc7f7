"""Logs of the functions: one line of JSON per call, with the ids to search for and never a token."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from aws_lambda_powertools import Logger

logger = Logger(service="tidegate", serialize_stacktrace=False)

#: Event fields that identify the subject of a call. Tokens are not among them.
_IDENTIFIERS = ("deployment", "queue", "job", "kind", "phase", "attempt", "execution", "state", "error")

Handler = Callable[[Mapping[str, Any], Any], Any]


def observed(handler: Handler) -> Handler:
    """Log each call of a function's handler: its subject, its result, and its duration."""

    @wraps(handler)
    def run(event: Mapping[str, Any], context: Any) -> Any:
        identifiers = {name: event[name] for name in _IDENTIFIERS if event.get(name) is not None}
        about = {
            "function": getattr(context, "function_name", None),
            "request": getattr(context, "aws_request_id", None),
        }
        started = time.perf_counter()
        try:
            result = handler(event, context)
        except Exception as error:
            logger.exception("failed", extra={**about, **identifiers, "refusal": type(error).__name__})
            raise
        milliseconds = round((time.perf_counter() - started) * 1000, 1)
        logger.info("done", extra={**about, **identifiers, "result": result, "milliseconds": milliseconds})
        return result

    return run


def count_ignored(function: str, source: str, kind: str) -> None:
    """Log and count a message or event without a verb, from another release or sent by mistake."""
    logger.warning("ignored: no verb handles this kind of event", extra={"source": source, "ignored": kind[:100]})
    _count("IgnoredMessages", 1, function=function)


def count_starvation(repository: str, times: int) -> None:
    """Log and count that people move a default branch faster than its entries are tested, ``times`` in a row."""
    logger.warning("the default branch moves faster than entries are tested", extra={"replays": times})
    _count("ConfigUpdateStarvation", times, repository=repository)


def count_blocked(repository: str, reason: str) -> None:
    """Log and count that the queue of a config repository waits for somebody to mend something."""
    logger.warning("a config repository's queue is blocked", extra={"reason": reason[:500]})
    _count("ConfigUpdatesBlocked", 1, repository=repository)


def _count(name: str, value: int, **dimension: str) -> None:
    from aws_lambda_powertools.metrics import MetricUnit, single_metric  # noqa: PLC0415  # Seldom needed.

    with single_metric(name=name, unit=MetricUnit.Count, value=value, namespace="Tidegate") as metric:
        for of, one in dimension.items():
            metric.add_dimension(of, one)

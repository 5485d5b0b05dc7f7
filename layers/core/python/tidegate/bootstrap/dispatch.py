"""Dispatch an event of a function to its verb."""

# ruff: noqa: PLC0415  # The table imports all messages, and only what takes from queues needs the batches.

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from tidegate.bootstrap import wiring
from tidegate.bootstrap.prepared import prepare
from tidegate.telemetry import Handler, count_ignored, logger, observed

if TYPE_CHECKING:
    from tidegate.bootstrap.table import Queue
    from tidegate.ports import Ports
    from tidegate.web.application import WebApplication


class UnknownKind(ValueError):  # Named for what it tells.
    """A function got an event without a verb."""

    def __init__(self, function: str, kind: str) -> None:
        super().__init__(
            f"The function {function} does not support events of the kind {kind!a}, so nothing was done. Deploy "
            "Tidegate again: callers and functions must be of the same release."
        )


def handler_of(function: str) -> Handler:
    """Return a function's handler: it calls the verb of a message's kind, or of an event's source.

    On Lambda, at startup, it also preloads the function's dependencies.
    """
    if "AWS_LAMBDA_RUNTIME_API" in os.environ:
        prepare(function, wiring())

    @observed
    def handle(event: Mapping[str, Any], context: Any) -> Any:
        match event:
            case {"kind": kind}:
                return _step(function, str(kind), event)
            case {"Records": [{"eventSourceARN": str(arn)}, *_]}:
                return _batch(function, arn.rpartition(":")[2], event, context)
            case {"source": str(source), "detail-type": str(what)}:
                return _rule(function, (source, what), event)
        raise UnknownKind(function, "")

    return handle


def _step(function: str, kind: str, event: Mapping[str, Any]) -> dict[str, Any]:
    from tidegate.bootstrap.table import STEPS

    verb = STEPS.get(function, {}).get(kind)
    if verb is None:
        raise UnknownKind(function, kind)
    answer = verb.take(wiring(), {name: value for name, value in event.items() if name != "kind"})
    return {} if answer is None else answer.model_dump(mode="json")


def _batch(function: str, name: str, event: Mapping[str, Any], context: Any) -> Any:
    """Process a queue's messages. A message of another function is refused: the deployment is wrong."""
    from tidegate.bootstrap.table import QUEUES

    environ = wiring().environ
    queues = QUEUES.get(function, {})
    urls = {environ[variable]: queue for variable, queue in queues.items() if environ.get(variable)}
    for url, queue in urls.items():
        if url.rpartition("/")[2] == name:
            return _take(function, queue, url, event, context)
    raise UnknownKind(function, name)


def _take(function: str, queue: Queue, url: str, event: Mapping[str, Any], context: Any) -> Any:
    from tidegate.aws.batches import release_held_slot, take_all, take_in_order

    logger.append_keys(kind=queue.name)
    taken: set[str] = set()

    def take(body: str) -> None:
        if body not in taken:
            _message(function, queue, body)
        if queue.once:
            taken.add(body)

    def postpone(receipt: str, seconds: int) -> None:
        if queue.soon:
            wiring().visibility.postpone(url, receipt, seconds)

    how = {"any": take_all, "held": release_held_slot, "in order": take_in_order}
    return how[queue.how](event, context, take, postpone)


def _message(function: str, queue: Queue, body: str) -> None:
    """Process a message. An unknown kind would stay unknown: the message is counted and dropped."""
    fields = json.loads(body)
    kind = str(fields.get("kind")) if isinstance(fields, dict) else ""
    verb = queue.verbs.get(kind)
    if verb is None:
        count_ignored(function, queue.name, kind)
        return
    message = verb.message.model_validate(fields)
    outcome = verb.carry_out(wiring(), message)
    logger.info(kind, extra={**message.about(), "outcome": outcome})


def _rule(function: str, what: tuple[str, str], event: Mapping[str, Any]) -> None:
    from tidegate.bootstrap.table import RULES

    rule = RULES.get(function, {}).get(what)
    if rule is None:
        count_ignored(function, *what)
        return
    logger.append_keys(kind=rule.name)
    rule.carry_out(wiring(), event["detail"])


def reconcile(_event: Mapping[str, Any], _context: object) -> dict[str, int]:
    """Reconcile, and return the count of each function. Raise ExceptionGroup in the end for failures."""
    from tidegate.reconciler.reconcile import reconcile as run_repairs

    done = run_repairs(wiring())
    if done.failures:
        logger.warning("some reconciliations failed", extra={"repaired": done.repaired})
        raise ExceptionGroup("The next run retries them.", done.failures)
    return done.repaired


def answer_request(event: Mapping[str, Any], context: Any) -> Any:
    """Answer a request of the HTTP API."""
    return _application(wiring()).answer(event, context)


@cache
def _application(ports: Ports) -> WebApplication:
    from tidegate.web.application import WebApplication

    return WebApplication(ports)

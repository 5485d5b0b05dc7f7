"""Leads from an event of a function to the verb that it is for."""

# ruff: noqa: PLC0415  # What takes messages imports all of them; what takes events imports the batches.

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.bootstrap.prepared import prepare
from tidegate.telemetry import Handler, logger, observed


class UnknownKind(ValueError):  # Named for what it tells.
    """A function got an event that none of its verbs is for."""

    def __init__(self, function: str, kind: str) -> None:
        super().__init__(
            f"The function {function} takes no event of the kind {kind!a}, so nothing was done. Deploy Tidegate again: "
            "what calls a function is of the same release."
        )


def handler_of(function: str) -> Handler:
    """Return the handler of a function: it calls the verb of a message's kind, or of where an event comes from.

    On Lambda, where the function is about to take events, it is prepared for them.
    """
    if "AWS_LAMBDA_RUNTIME_API" in os.environ:
        prepare(function, wiring())

    @observed
    def handle(event: Mapping[str, Any], context: Any) -> Any:
        return _step(function, event) if "kind" in event else _source(function, event, context)

    return handle


def _step(function: str, event: Mapping[str, Any]) -> dict[str, Any]:
    from tidegate.bootstrap.steps import STEPS

    fields = dict(event)
    kind = str(fields.pop("kind"))
    step = STEPS.get(function, {}).get(kind)
    if step is None:
        raise UnknownKind(function, kind)
    return step.take(wiring(), fields)


def _source(function: str, event: Mapping[str, Any], context: Any) -> Any:
    from tidegate.bootstrap.sources import SOURCES, kind_of

    kind = kind_of(event, wiring().environ)
    take = SOURCES.get(function, {}).get(kind)
    if take is None:
        raise UnknownKind(function, kind)
    logger.append_keys(kind=kind)
    return take(event, context)

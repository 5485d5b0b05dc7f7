"""The HTTP API for programs and browsers, and the action queue: buttons, and commands that decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap.dispatch import answer_request, handler_of

_from_queue = handler_of("api")


def lambda_handler(event: Mapping[str, Any], context: object) -> Any:
    """Answer one request, or a batch of the queue."""
    return answer_request(event, context) if "requestContext" in event else _from_queue(event, context)

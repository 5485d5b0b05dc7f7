"""HTTP API: answers programs with JSON and browsers with pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring


def lambda_handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Answer one request."""
    return wiring().web.answer(event, context)

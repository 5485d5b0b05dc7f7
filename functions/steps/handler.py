"""Steps that only update records, and the position queues."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("steps")

"""Steps of executions that only keep records, and the line queues."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("steps")

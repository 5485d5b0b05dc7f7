"""What starts deploy executions: handovers, the change queue, and executions that did not end by themselves."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("workers")

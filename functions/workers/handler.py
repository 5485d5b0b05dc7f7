"""Starts of deploy executions: continue as new, the change queue, and executions that ended abnormally."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("workers")

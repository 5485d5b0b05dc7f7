"""Steps that store deployments' task tokens, and stopped runners, whose tokens fail."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("waits")

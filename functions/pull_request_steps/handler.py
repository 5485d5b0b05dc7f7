"""Steps of speculative plans, which share concurrency slots."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("pull_request_steps")

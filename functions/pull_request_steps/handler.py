"""Steps of speculative plans, which take turns."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("pull_request_steps")

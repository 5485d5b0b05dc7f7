"""Steps of deployments that keep task tokens, and runners that stopped, whose tokens fail."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("waits")

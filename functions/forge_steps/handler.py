"""Steps that call the VCS provider, and the check-run queue, which publishes the newest states."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("forge_steps")

"""Steps of executions that call the forge, and the check-run queue, which shows there what is newest."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("forge_steps")

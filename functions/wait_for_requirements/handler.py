"""*Wait for its requirements*: keeps the task token of a deployment, and asks the forge why it must wait."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("wait_for_requirements")

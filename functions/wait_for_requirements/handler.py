"""*Wait for its requirements*: stores a deployment's task token, and asks the VCS provider what is missing."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("wait_for_requirements")

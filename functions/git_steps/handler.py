"""Steps that use git: what a pull request changes, and the roots of a drift schedule."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("git_steps")

"""Steps that use git: what a pull request changes, a drift schedule's roots, and branches of config repositories."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("git_steps")

"""Steps that read a repository's files: a pull request's changes, and a drift schedule's roots."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("discovery_steps")

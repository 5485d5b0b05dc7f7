"""Steps of executions that read a repository's files: what a pull request changes, and what a schedule is about."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("discovery_steps")

"""The discovery queue: enqueues deployments for pushes, comments, requests and re-runs, and updates pull requests."""

from __future__ import annotations

from tidegate.bootstrap.dispatch import handler_of

lambda_handler = handler_of("discover_roots")

"""*Find what the pull request changes*: stores a temporary layer for each root."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import DiscoverPullRequest, PullRequestDiscovered
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    asked = DiscoverPullRequest.model_validate(event)
    found, layers = wiring().pull_request_discoverer.discover(asked.pull_request, asked.revision)
    return PullRequestDiscovered(next=found, layers=tuple(layers)).model_dump(mode="json")

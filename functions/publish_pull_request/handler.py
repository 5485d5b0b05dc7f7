"""*Show what the merge would do*: the comments and check runs of a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import PublishPullRequest, PullRequestPublished
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    asked = PublishPullRequest.model_validate(event)
    outcome = wiring().pull_request_publisher.publish(
        asked.pull_request, asked.revision, asked.error or "", asked.cause or ""
    )
    return PullRequestPublished(outcome=outcome).model_dump(mode="json")

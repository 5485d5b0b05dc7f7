"""Update the comments of a closed pull request: there are no next steps.

Idempotent.
"""

from __future__ import annotations

from contextlib import suppress

from tidegate.ports import Ports
from tidegate.pull_requests.pull_request_view import pull_request_page
from tidegate.pull_requests.rules.comment import MARKER, render_closed
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.errors import ForgeRefused, NotFound


def notify_closed(ports: Ports, record: PullRequestRecord, *, merged: bool) -> None:
    """Update our comments in place. Deleted or locked ones stay as they are. Raise ForgeUnavailable."""
    if record.is_deploying:  # The deploys' update writes the whole end: two writers would overwrite each other.
        ports.event_publisher.pull_request_deployed(record.spec.id)
    elif record.comments:
        _end(ports, record, merged=merged)


def _end(ports: Ports, record: PullRequestRecord, *, merged: bool) -> None:
    spec, ours = record.spec, {comment for _, comment in record.comments}
    with suppress(ForgeRefused):
        for comment, text in ports.comments.our_comments(spec.repository, spec.number, MARKER).items():
            closed = render_closed(text, pull_request_page(ports, spec), merged=merged, applied=bool(record.applies))
            if comment in ours and closed != text:
                with suppress(NotFound):
                    ports.comments.update_comment(spec.repository, spec.number, comment, closed)

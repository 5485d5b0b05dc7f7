"""GitLab's webhooks: they have a token, and numbers that several events may share."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.vcs.receive_webhook import Dialect, WebhookRequest
from tidegate.vcs.rules.decision import Accepted
from tidegate.vcs.rules.gitlab import read_event
from tidegate.vcs.rules.webhook import check_token, content_delivery_id, event_delivery_id


def _check(_body: bytes, token: str | None, secrets: Sequence[str]) -> None:
    check_token(token, secrets)


def _delivery(request: WebhookRequest) -> str:
    return event_delivery_id(request.delivery, request.event or "", request.body)


def _identify(delivery: str, accepted: Accepted) -> str:
    """Return a command's id: the same note again, under any number, is the same command.

    Unverifiable fields, such as the project's number, do not change it.
    """
    if accepted.event != "issue_comment":
        return delivery
    return content_delivery_id({name: value for name, value in accepted.fields.items() if name != "project"})


GITLAB = Dialect(_check, _delivery, read_event, _identify)

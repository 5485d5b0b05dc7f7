"""How GitLab sends webhooks: with a token, and with numbers that several events may share."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.domain.webhook import check_token, event_delivery_id
from tidegate.domain.webhook_gitlab import read_event
from tidegate.usecases.receive_webhook import Dialect, WebhookRequest


def _check(_body: bytes, token: str | None, secrets: Sequence[str]) -> None:
    check_token(token, secrets)


def _delivery(request: WebhookRequest) -> str:
    return event_delivery_id(request.delivery, request.event or "", request.body)


GITLAB = Dialect(_check, _delivery, read_event)

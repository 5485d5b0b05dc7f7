"""What the HTTP API says of notifications."""

from __future__ import annotations

from pydantic import Field

from tidegate.notifications.rules.delivery import DeliveryState, NotificationDelivery
from tidegate.notifications.rules.subscription import NotificationKind
from tidegate.notifications.texts.words import title
from tidegate.web.models import Instant, Shown


class NotificationModel(Shown):
    """A message to a destination, and what became of it."""

    id: str
    destination: str
    state: DeliveryState
    text: str = Field(description="Its first line")
    kinds: list[NotificationKind] = Field(description="What it tells of")
    made_at: Instant = Field(description="When its first event happened, ISO 8601 in UTC")
    attempts: int
    error: str = Field(description="Why the last attempt failed; empty if it did not")
    ended_at: Instant | None = Field(description="When it was delivered or given up; null before")


class NotificationList(Shown):
    """The newest messages of a repository, newest first."""

    repository: str
    notifications: list[NotificationModel]
    problems: list[str] = Field(description="Why destinations that tidegate.yaml names get nothing, as sentences")


def notification(delivery: NotificationDelivery) -> NotificationModel:
    """Return what the API says of a delivery."""
    return NotificationModel(
        id=delivery.id,
        destination=delivery.destination,
        state=delivery.state,
        text=title(delivery.notices, delivery.more),
        kinds=list(dict.fromkeys(each.kind for each in delivery.notices)),
        made_at=delivery.made_at,
        attempts=delivery.attempts,
        error=delivery.error,
        ended_at=delivery.ended_at,
    )

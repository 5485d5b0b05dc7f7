"""Deliveries: which notices one message has, when it is sent, and when it is tried again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from tidegate.notifications.rules.notice import Notice
from tidegate.notifications.rules.subscription import MOST_URGENT_FIRST, Subscription
from tidegate.rules.shortened import shortened
from tidegate.rules.timestamp import timestamp_text

#: Seconds before the second attempt, doubled at each further one, up to the longest: SQS delays no message by more.
FIRST_PAUSE, LONGEST_PAUSE = 10, 900
#: A receiver that fails for a day gets no message that old: it is recorded as failed.
GIVE_UP_AFTER = timedelta(hours=24)
#: Notices of one digest: people read it, and a message of Slack has 50 blocks at most, one of Teams 28 KB.
MOST_NOTICES = 20
#: An attempt takes no longer, as Lambda ends the function ``steps`` after this time.
LONGEST_ATTEMPT = timedelta(seconds=60)
#: Messages about one repository to one destination within so many seconds: everything else becomes one more message.
#: SQS delays a message by 15 minutes at most.
MOST_MESSAGES, MESSAGES_SECONDS = 30, 900
_LONGEST_ERROR = 300


class DeliveryState(StrEnum):
    """``collecting``: further notices join it until it is due. ``sending``: it is tried until it succeeds."""

    COLLECTING = "collecting"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class NotificationDelivery:
    """One message to one destination: its notices, and what became of it. ``version`` counts writes.

    ``id`` begins with its time, so that ids sort by it. ``more`` counts notices that had no room. ``begun_at`` is when
    the attempt began that is under way, or that ended unrecorded.
    """

    repository: str
    id: str
    destination: str
    notices: tuple[Notice, ...]
    state: DeliveryState
    made_at: datetime
    plan: bool = False
    more: int = 0
    attempts: int = 0
    error: str = ""
    ended_at: datetime | None = None
    version: int = 0
    begun_at: datetime | None = None

    @property
    def is_done(self) -> bool:
        return self.state in {DeliveryState.DELIVERED, DeliveryState.FAILED}

    def has(self, notice: Notice) -> bool:
        return any(each.id == notice.id for each in self.notices)

    def joined(self, notice: Notice) -> NotificationDelivery:
        """Return the delivery with a further notice. Beyond ``MOST_NOTICES``, the least urgent is only counted."""
        notices = (*self.notices, notice)
        if len(notices) <= MOST_NOTICES:
            return replace(self, notices=notices)
        out = max(range(len(notices)), key=lambda at: (MOST_URGENT_FIRST.index(notices[at].kind), at))
        return replace(self, notices=(*notices[:out], *notices[out + 1 :]), more=self.more + 1)

    def awaits(self, attempt: int) -> bool:
        """Tell whether an attempt (from 1) is still to be made: it is not recorded."""
        return not self.is_done and self.attempts < attempt

    def is_under_way(self, now: datetime) -> bool:
        """Tell whether an attempt began that may not have ended."""
        return self.begun_at is not None and now - self.begun_at < LONGEST_ATTEMPT

    def begun(self, at: datetime) -> NotificationDelivery:
        return replace(self, state=DeliveryState.SENDING, begun_at=at)

    def delivered(self, at: datetime) -> NotificationDelivery:
        attempts = self.attempts + 1
        return replace(self, state=DeliveryState.DELIVERED, attempts=attempts, error="", ended_at=at, begun_at=None)

    def failed(self, error: str, at: datetime) -> NotificationDelivery:
        """Return the delivery after a failed attempt: one that is tried again, or that failed for good."""
        over = at - self.made_at >= GIVE_UP_AFTER
        state = DeliveryState.FAILED if over else DeliveryState.SENDING
        text = shortened(error, _LONGEST_ERROR)
        ended = at if over else None
        return replace(self, state=state, attempts=self.attempts + 1, error=text, ended_at=ended, begun_at=None)


@dataclass(frozen=True, slots=True)
class Placed:
    """The delivery that a notice begins, or joins, and in how many seconds it is sent."""

    delivery: NotificationDelivery
    seconds: int


def single(notice: Notice, subscription: Subscription) -> Placed:
    """Return the delivery of a notice by itself: always the same one."""
    return Placed(_delivery(notice, subscription, DeliveryState.SENDING, notice.at, notice.id), 0)


def first_of_window(notice: Notice, subscription: Subscription, now: datetime) -> Placed:
    """Return the delivery that the first notice of a change begins in its window: it is sent at once."""
    start = window(now, subscription.digest)
    return Placed(_delivery(notice, subscription, DeliveryState.SENDING, start, f"{notice.group} first"), 0)


def rest_of_window(notice: Notice, subscription: Subscription, now: datetime) -> Placed:
    """Return the delivery that collects the further notices of a change: it is sent when the window ends."""
    return _collecting(notice, subscription, now, subscription.digest, f"{notice.group} rest")


def rest_of_flood(notice: Notice, subscription: Subscription, now: datetime) -> Placed:
    """Return the delivery that collects what exceeds ``MOST_MESSAGES``: it is sent when their window ends."""
    return _collecting(notice, subscription, now, MESSAGES_SECONDS, "flood")


def pause_after(attempts: int, asked: int | None = None) -> int:
    """Return the seconds to wait after the ``attempts``-th failure (from 1), or as long as the receiver asks."""
    if asked is not None:
        return max(1, min(asked, LONGEST_PAUSE))
    return int(min(FIRST_PAUSE * 2 ** min(attempts - 1, 10), LONGEST_PAUSE))


def window(now: datetime, length: int) -> datetime:
    """Return the beginning of the window of so many seconds."""
    seconds = int(now.timestamp())
    return datetime.fromtimestamp(seconds - seconds % length, UTC)


def _collecting(notice: Notice, subscription: Subscription, now: datetime, length: int, what: str) -> Placed:
    start = window(now, length)
    delivery = _delivery(notice, subscription, DeliveryState.COLLECTING, start, what)
    left = int((start + timedelta(seconds=length) - now).total_seconds()) + 1
    return Placed(delivery, max(1, min(left, LONGEST_PAUSE)))


def _delivery(
    notice: Notice, subscription: Subscription, state: DeliveryState, at: datetime, what: str
) -> NotificationDelivery:
    [name] = subscription.destinations
    digest = hashlib.sha256(f"{name}\n{what}".encode()).hexdigest()[:32]
    identifier = f"{timestamp_text(at)}-{digest}"
    return NotificationDelivery(notice.repository, identifier, name, (notice,), state, notice.at, subscription.plan)

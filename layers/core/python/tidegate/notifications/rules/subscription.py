"""Who is notified of what: the subscriptions of a repository's ``tidegate.yaml``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.roots.rules.terms import Tagged

#: Seconds within which messages about one change become one, by default and at most: SQS delays by 15 minutes at most.
DIGEST_SECONDS, LONGEST_DIGEST_SECONDS = 60, 900


class NotificationKind(StrEnum):
    """What a notification tells of."""

    REVIEW_WAITS = "review-waits"
    REVIEW_EXPIRES_SOON = "review-expires-soon"
    FAILED = "failed"
    APPLIED = "applied"
    OUTCOME_UNKNOWN = "outcome-unknown"
    LOCKED = "locked"
    DRIFT = "drift"


#: Which ones a message that has no room for all shows first.
MOST_URGENT_FIRST = (
    NotificationKind.OUTCOME_UNKNOWN,
    NotificationKind.LOCKED,
    NotificationKind.REVIEW_EXPIRES_SOON,
    NotificationKind.FAILED,
    NotificationKind.DRIFT,
    NotificationKind.REVIEW_WAITS,
    NotificationKind.APPLIED,
)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Notifies ``destinations`` of the kinds in ``events``, for roots that match a tag ``query``.

    ``digest`` are the seconds within which messages about one change become one; 0 sends each. ``plan``: with the
    beginning of the plan's text.
    """

    destinations: tuple[str, ...]
    events: tuple[NotificationKind, ...]
    query: str = ""
    digest: int = DIGEST_SECONDS
    plan: bool = False
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The subscriptions of a repository, from the newest configuration of its default branch."""

    repository: str
    listed: tuple[Subscription, ...] = ()

    def of(self, kind: NotificationKind, about: Iterable[Tagged]) -> tuple[Subscription, ...]:
        """Return a subscription for each destination that is notified of this kind, about one of these roots.

        Without roots, the news is about the whole repository, and queries do not count. If several subscriptions name
        a destination, the first that matches decides.
        """
        roots = list(about)
        chosen: dict[str, Subscription] = {}
        for each in self.listed:
            query = parse_tag_query(each.query)
            if kind in each.events and (not roots or any(query.matches(root) for root in roots)):
                for name in each.destinations:
                    chosen.setdefault(name, replace(each, destinations=(name,)))
        return tuple(chosen.values())

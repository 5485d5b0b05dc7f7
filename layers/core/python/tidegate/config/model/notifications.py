"""The key ``notifications`` of ``tidegate.yaml``: who is notified of what."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tidegate.config.section import Section
from tidegate.config.values import Flag, Name, Query, as_list, duration, length, refused, shown
from tidegate.notifications.rules.subscription import LONGEST_DIGEST_SECONDS, NotificationKind, Subscription
from tidegate.roots.rules.root_query import TagQuery, parse_tag_query

MOST_SUBSCRIPTIONS = 50
_BRANCHES = ("branch:", "dest_branch:")


def _query(query: TagQuery) -> TagQuery:
    late = next((tag for tag in query.tags if tag.startswith(_BRANCHES)), None)
    if late:
        raise refused(f"a notification selects roots, but {shown(late)} is a branch tag", "Use tags of roots")
    return query


class NotificationSection(Section):
    """Tells destinations of the installation what happens to the roots that a tag query selects."""

    destinations: Annotated[
        tuple[Name, ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(
            min_length=1,
            max_length=20,
            description="Names of destinations that the installation declares: see "
            "[notifications](notifications.md#declare-destinations).",
        ),
    ]
    events: Annotated[
        tuple[NotificationKind, ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(min_length=1, max_length=20, description="What they are notified of."),
    ]
    tag_query: Annotated[
        Query, AfterValidator(_query), Field(description="A tag query that selects the roots. By default, all roots.")
    ] = parse_tag_query("")
    digest: Annotated[
        Annotated[str, duration(timedelta(seconds=LONGEST_DIGEST_SECONDS), "15m")] | Literal["off"],
        Field(
            union_mode="left_to_right",
            description="The time within which messages about one change become one, such as `5m`, at most `15m`; "
            "`off` sends each by itself.",
        ),
    ] = "1m"
    plan: Annotated[
        Flag, Field(description="Whether messages contain the beginning of the plan's text, with masked values.")
    ] = False

    def declared(self, line: int) -> Subscription:
        """Return the subscription and its line."""
        seconds = 0 if self.digest == "off" else int(length(self.digest).total_seconds())
        return Subscription(self.destinations, self.events, self.tag_query.text, seconds, self.plan, line)

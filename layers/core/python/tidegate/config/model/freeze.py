"""The key ``freeze`` of ``tidegate.yaml``: windows in which nothing is applied."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, BeforeValidator, Field, create_model, model_validator

from tidegate.config.freezes import longest_hold
from tidegate.config.model.branches import is_zone
from tidegate.config.section import Section
from tidegate.config.values import Query, refused, shown
from tidegate.deploys.rules.freeze import LONGEST_FREEZE_DAYS, Freeze
from tidegate.deploys.rules.locking import DURATION, LONGEST_REASON
from tidegate.roots.rules.root_query import TagQuery, parse_tag_query
from tidegate.rules.timestamp import timestamp_from

_MINUTES = {"m": 1, "h": 60, "d": 24 * 60}
_BRANCHES = ("branch:", "dest_branch:")


def _instant(value: Any) -> datetime:
    """Return an instant in UTC from a text, or from YAML's own timestamp."""
    try:
        return timestamp_from(value)
    except ValueError:
        allowed = "Write a date, a time and a UTC offset, such as '2026-12-20T18:00:00Z' or '2026-12-20T18:00:00+01:00'"
        raise refused(f"{shown(value)} is not a timestamp", allowed) from None


def _cron(text: str) -> str:
    try:
        CronSim(text, datetime.now(UTC))
    except CronSimError as error:
        allowed = "Write minute, hour, day of the month, month and day of the week, such as '0 16 * * FRI'"
        raise refused(f"{shown(text)} is not a cron expression: {error}", allowed) from None
    return text


def _duration(text: str) -> str:
    if not re.fullmatch(DURATION, text):
        raise refused(f"{shown(text)} is not a duration", "Write minutes, hours or days, such as 90m, 64h or 3d")
    return text


def _query(query: TagQuery) -> TagQuery:
    late = next((tag for tag in query.tags if tag.startswith(_BRANCHES)), None)
    if late:
        raise refused(f"a freeze selects roots, but {shown(late)} is a branch tag", "Use tags of roots")
    return query


Instant = Annotated[datetime, BeforeValidator(_instant, json_schema_input_type=str)]


class _FreezeSection(Section):
    tag_query: Annotated[
        Query, AfterValidator(_query), Field(description="A tag query that selects the roots. By default, all roots.")
    ] = parse_tag_query("")
    until: Annotated[
        Instant | None, Field(description=f"The end: at most {LONGEST_FREEZE_DAYS} days after the start.")
    ] = None
    cron: Annotated[
        Annotated[str, AfterValidator(_cron)] | None,
        Field(
            max_length=100,
            description="The start of a recurring window, as a cron expression with five fields, such as `0 16 "
            "* * FRI`.",
        ),
    ] = None
    duration: Annotated[
        Annotated[str, AfterValidator(_duration)] | None,
        Field(description=f"How long a recurring window lasts, such as `64h`; at most `{LONGEST_FREEZE_DAYS}d`."),
    ] = None
    timezone: Annotated[str, Field(max_length=50, description="The time zone of `cron`.")] = "UTC"
    reason: Annotated[
        str, Field(max_length=LONGEST_REASON, description="The reason, which Tidegate shows on waiting deployments.")
    ] = ""


#: ``from`` is a Python keyword, so it cannot be a field's name.
_FROM: Any = {"from": (Annotated[Instant | None, Field(description="The start: date, time and UTC offset.")], None)}
_WithFrom: Any = create_model("_WithFrom", __base__=_FreezeSection, **_FROM)


class FreezeSection(_WithFrom):
    """A window in which nothing is applied, one-time or recurring."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        begins, recurs = getattr(self, "from"), self.cron or self.duration
        if recurs and (begins or self.until):
            raise refused("a freeze is either one-time or recurring, not both", "Remove either from and until, or cron")
        if recurs and not (self.cron and self.duration):
            raise refused("a recurring freeze needs cron and duration", "Set both")
        if not recurs and not (begins and self.until):
            raise refused("a freeze needs a start and an end", "Set from and until, or cron and duration")
        if begins and self.until and self.until <= begins:
            raise refused("the freeze ends before it starts", "Set until to a time after from")
        if not is_zone(self.timezone):
            raise refused(f"unknown time zone {shown(self.timezone)}", "Use a name such as UTC or Europe/Berlin")
        if longest_hold(self.declared(0)) > timedelta(days=LONGEST_FREEZE_DAYS):
            problem = f"the freeze lasts more than {LONGEST_FREEZE_DAYS} days without a break"
            raise refused(
                problem, "Shorten it: no deployment waits that long. To block merges for longer, use tidegate lock"
            )
        return self

    def declared(self, line: int) -> Freeze:
        """Return the window and its line."""
        minutes = int(self.duration[:-1]) * _MINUTES[self.duration[-1]] if self.duration else 0
        reason = " ".join(self.reason.split())
        begins = getattr(self, "from")
        return Freeze(self.tag_query.text, reason, begins, self.until, self.cron or "", minutes, self.timezone, line)

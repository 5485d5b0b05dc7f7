"""The key ``freeze`` of ``tidegate.yaml``: times in which nothing is applied."""

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

_MINUTES = {"m": 1, "h": 60, "d": 24 * 60}
_BRANCHES = ("branch:", "dest_branch:")


def _moment(value: Any) -> str:
    """Return a moment in UTC of a text, or of what YAML takes for one."""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        found = None
    if found is None or found.tzinfo is None:
        allowed = "Write date, time and offset, such as '2026-12-20T18:00:00Z' or '2026-12-20T18:00:00+01:00'"
        raise refused(f"{shown(value)} is not a moment", allowed)
    return found.astimezone(UTC).isoformat(timespec="microseconds")


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
        raise refused(f"a freeze is about roots, and {shown(late)} is the tag of a branch", "Ask for tags of roots")
    return query


Moment = Annotated[str, BeforeValidator(_moment, json_schema_input_type=str)]


class _FreezeSection(Section):
    tag_query: Annotated[Query, AfterValidator(_query), Field(description="The roots; without it, all.")] = (
        parse_tag_query("")
    )
    until: Annotated[Moment | None, Field(description=f"When it ends: at most {LONGEST_FREEZE_DAYS} days after.")] = (
        None
    )
    cron: Annotated[
        Annotated[str, AfterValidator(_cron)] | None,
        Field(max_length=100, description="When a recurring window begins: five fields, such as `0 16 * * FRI`."),
    ] = None
    duration: Annotated[
        Annotated[str, AfterValidator(_duration)] | None,
        Field(description=f"How long it takes then, such as `64h`; at most `{LONGEST_FREEZE_DAYS}d`."),
    ] = None
    timezone: Annotated[str, Field(max_length=50, description="The time zone of `cron`.")] = "UTC"
    reason: Annotated[str, Field(max_length=LONGEST_REASON, description="Why: shown where a deployment waits.")] = ""


#: ``from`` is a word of Python's own, which no field of a class may have for its name.
_FROM: Any = {"from": (Annotated[Moment | None, Field(description="When it begins: date, time and offset.")], None)}
_WithFrom: Any = create_model("_WithFrom", __base__=_FreezeSection, **_FROM)


class FreezeSection(_WithFrom):
    """A window in which nothing is applied: once, or again and again."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        begins, recurs = getattr(self, "from"), self.cron or self.duration
        if recurs and (begins or self.until):
            raise refused("a freeze is once or again and again, and not both", "Leave out from and until, or cron")
        if recurs and not (self.cron and self.duration):
            raise refused("a recurring freeze has cron and duration", "Write both")
        if not recurs and not (begins and self.until):
            raise refused("a freeze has a beginning and an end", "Write from and until, or cron and duration")
        if begins and self.until and self.until <= begins:
            raise refused("the freeze ends before it begins", "Write an until after from")
        if not is_zone(self.timezone):
            raise refused(f"there is no time zone {shown(self.timezone)}", "Name one such as UTC or Europe/Berlin")
        if longest_hold(self.declared(0)) > timedelta(days=LONGEST_FREEZE_DAYS):
            problem = f"the freeze holds for more than {LONGEST_FREEZE_DAYS} days without a break"
            raise refused(
                problem, "Shorten it, as no deployment waits that long; tidegate lock holds merges back longer"
            )
        return self

    def declared(self, line: int) -> Freeze:
        """Return the window, and the line that says it."""
        minutes = int(self.duration[:-1]) * _MINUTES[self.duration[-1]] if self.duration else 0
        reason = " ".join(self.reason.split())
        begins, ends = getattr(self, "from") or "", self.until or ""
        return Freeze(self.tag_query.text, reason, begins, ends, self.cron or "", minutes, self.timezone, line)

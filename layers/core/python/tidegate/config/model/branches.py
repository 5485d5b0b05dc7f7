"""The keys of ``tidegate.yaml`` on branches, and on when roots are looked at for drift."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tidegate.config.declarations import DestinationBranch
from tidegate.config.rules.drift import DriftReport
from tidegate.config.rules.timetable import Interval, Window
from tidegate.config.section import Section
from tidegate.config.values import (
    BranchExpression,
    Flag,
    Name,
    Query,
    TagName,
    as_list,
    empty_if_absent,
    refused,
    shown,
)

_TIME = re.compile(r"(?P<time>([01]\d|2[0-3]):[0-5]\d)( (?P<zone>[A-Za-z0-9_+:/-]{1,50}))?")


class BranchTagsSection(Section):
    """Tags of branches: names with a regular expression each. A branch has the first that occurs in its name."""

    branch: Annotated[
        dict[TagName, BranchExpression],
        BeforeValidator(empty_if_absent),
        Field(
            default_factory=dict,
            max_length=100,
            description="The branch that a change comes from: it gets the tag `branch:NAME`.",
        ),
    ]
    dest_branch: Annotated[
        dict[TagName, BranchExpression],
        BeforeValidator(empty_if_absent),
        Field(
            default_factory=dict,
            max_length=100,
            description="The branch that it goes to: it gets the tag `dest_branch:NAME`.",
        ),
    ]


def _time(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise refused(f"{shown(text)} is not a time of the day", "Write such as '08:30 UTC' or '08:30 Europe/Berlin'")
    return text


def is_zone(name: str) -> bool:
    """Tell whether there may be a time zone of this name: where nothing is known of any, the cloud tells."""
    return _is_known(name) or not _is_known("UTC")


def _is_known(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


Time = Annotated[str, AfterValidator(_time)]


class WindowSection(Section):
    """Hours of a day, such as `22:00 UTC`. Where the end is before the start, it is that of the next day."""

    start: Annotated[Time, Field(description="When it begins.")]
    end: Annotated[Time, Field(description="When it ends.")]

    @model_validator(mode="after")
    def _one_zone(self) -> Self:
        start, end = self.start.partition(" ")[2], self.end.partition(" ")[2]
        if start and end and start != end:
            raise refused(f"the window begins in {shown(start)} and ends in {shown(end)}", "Name one time zone")
        if self.start.partition(" ")[0] == self.end.partition(" ")[0]:
            raise refused("the window ends when it begins", "Leave it out, if it may run at any time")
        if not is_zone(start or end or "UTC"):
            raise refused(f"there is no time zone {shown(start or end)}", "Name one such as UTC or Europe/Berlin")
        return self

    @property
    def window(self) -> Window:
        (start, _, zone), (end, _, other) = self.start.partition(" "), self.end.partition(" ")
        return Window(start, end, zone or other or "UTC")


class ScheduleSection(Section):
    """When some roots are planned, to see what changed outside of Tidegate."""

    tag_query: Annotated[Query, Field(description="The roots.")]
    schedule: Annotated[Interval, Field(description="How often.")]
    reconcile: Annotated[Flag, Field(description="Whether a deployment is asked for that undoes it.")] = False
    report: Annotated[
        DriftReport, Field(description="Where it is shown: an issue, or a check run on the newest commit.")
    ] = DriftReport.ISSUE
    window: Annotated[WindowSection | None, Field(description="The hours in which it may run.")] = None


class DriftSection(Section):
    """Drift is what changed outside of Tidegate. The default branch's file says when it is looked for."""

    enabled: Annotated[Flag, Field(description="Whether roots are looked at.")] = True
    schedules: Annotated[
        dict[Name, ScheduleSection],
        BeforeValidator(empty_if_absent),
        Field(default_factory=dict, max_length=100, description="Schedules by name."),
    ]


class DestinationSection(Section):
    """A branch that changes may go to. Its name alone will do; `*` is any text, and case does not matter."""

    branch: Annotated[Name, Field(description="The branch.")]
    source_branches: Annotated[
        tuple[Name, ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(max_length=100, description="Branches that changes may come from; `!` before a name excludes it."),
    ] = ("*",)

    def destination(self, line: int) -> DestinationBranch:
        """Return the branch, and the line that names it."""
        only_excluded = all(each.startswith("!") for each in self.source_branches)
        return DestinationBranch(self.branch, (("*",) if only_excluded else ()) + self.source_branches, line)


def _branch_alone(value: Any) -> Any:
    return {"branch": value} if isinstance(value, str) else value


Destination = Annotated[
    DestinationSection, BeforeValidator(_branch_alone, json_schema_input_type=str | DestinationSection)
]

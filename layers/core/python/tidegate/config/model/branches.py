"""The keys of ``tidegate.yaml`` for branches and for drift detection."""

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
    """Branch tags: a regular expression for each tag. A branch gets the first tag whose expression matches its name."""

    branch: Annotated[
        dict[TagName, BranchExpression],
        BeforeValidator(empty_if_absent),
        Field(
            default_factory=dict,
            max_length=100,
            description="Patterns for the branch that a change comes from. Its roots get the tag `branch:NAME`.",
        ),
    ]
    dest_branch: Annotated[
        dict[TagName, BranchExpression],
        BeforeValidator(empty_if_absent),
        Field(
            default_factory=dict,
            max_length=100,
            description="Patterns for the branch that a change goes to. Its roots get the tag `dest_branch:NAME`.",
        ),
    ]


def _time(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise refused(
            f"{shown(text)} is not a time of day", "Write a time such as '08:30 UTC' or '08:30 Europe/Berlin'"
        )
    return text


def is_zone(name: str) -> bool:
    """Tell whether a time zone may exist. Without a local time zone database, AWS decides."""
    return _is_known(name) or not _is_known("UTC")


def _is_known(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


Time = Annotated[str, AfterValidator(_time)]


class WindowSection(Section):
    """A time window, such as from `22:00 UTC`. If the end is before the start, it is on the next day."""

    start: Annotated[Time, Field(description="The start of the window.")]
    end: Annotated[Time, Field(description="The end of the window.")]

    @model_validator(mode="after")
    def _one_zone(self) -> Self:
        start, end = self.start.partition(" ")[2], self.end.partition(" ")[2]
        if start and end and start != end:
            raise refused(
                f"the window starts in the time zone {shown(start)} and ends in {shown(end)}",
                "Use one time zone for both",
            )
        if self.start.partition(" ")[0] == self.end.partition(" ")[0]:
            raise refused("the window starts and ends at the same time", "Remove the window to allow runs at any time")
        if not is_zone(start or end or "UTC"):
            raise refused(f"unknown time zone {shown(start or end)}", "Use a name such as UTC or Europe/Berlin")
        return self

    @property
    def window(self) -> Window:
        (start, _, zone), (end, _, other) = self.start.partition(" "), self.end.partition(" ")
        return Window(start, end, zone or other or "UTC")


class ScheduleSection(Section):
    """A schedule that plans some roots, to detect changes made outside of Tidegate."""

    tag_query: Annotated[Query, Field(description="A tag query that selects the roots.")]
    schedule: Annotated[Interval, Field(description="How often the schedule runs.")]
    reconcile: Annotated[Flag, Field(description="Whether Tidegate queues a deployment that undoes the drift.")] = False
    report: Annotated[
        DriftReport, Field(description="Where it is shown: an issue, or a check run on the newest commit.")
    ] = DriftReport.ISSUE
    window: Annotated[WindowSection | None, Field(description="The time window in which the schedule may run.")] = None


class DriftSection(Section):
    """Drift detection: finds changes made outside of Tidegate. Only the default branch's file counts."""

    enabled: Annotated[Flag, Field(description="Whether drift detection is on.")] = True
    schedules: Annotated[
        dict[Name, ScheduleSection],
        BeforeValidator(empty_if_absent),
        Field(default_factory=dict, max_length=100, description="Drift detection schedules, by name."),
    ]


class DestinationSection(Section):
    """A target branch. Short form: just its name. `*` matches any text; case does not matter."""

    branch: Annotated[Name, Field(description="The target branch.")]
    source_branches: Annotated[
        tuple[Name, ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(max_length=100, description="Source branches that are accepted; `!` before a name excludes that branch."),
    ] = ("*",)

    def destination(self, line: int) -> DestinationBranch:
        """Return the branch and its line."""
        only_excluded = all(each.startswith("!") for each in self.source_branches)
        return DestinationBranch(self.branch, (("*",) if only_excluded else ()) + self.source_branches, line)


def _branch_alone(value: Any) -> Any:
    return {"branch": value} if isinstance(value, str) else value


Destination = Annotated[
    DestinationSection, BeforeValidator(_branch_alone, json_schema_input_type=str | DestinationSection)
]

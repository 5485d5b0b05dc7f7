"""The keys of ``tidegate.yaml`` on the size of runners."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tidegate.config.declarations import RunnerText
from tidegate.config.section import Section
from tidegate.config.values import empty_if_absent, refused, shown
from tidegate.deploys.rules.runner_size import (
    APPLY_SECONDS,
    DISK,
    RunnerNeeds,
    cpu_units,
    duration,
    duration_text,
    memory_mib,
    size_problem,
)


def _duration(text: str) -> str:
    try:
        duration(text)
    except ValueError:
        longest = duration_text(APPLY_SECONDS[-1])
        raise refused(
            f"{shown(text)} is no time for an apply", f"Write minutes or hours, such as 90m or 6h: {longest} at most"
        ) from None
    return text


_Number = Annotated[float, Field(ge=0.25, le=120)]


class RunnerSection(Section):
    """The runner of roots, in sizes that Fargate has and the installation allows. What the default branch says counts.

    What is left open is as it is around the section, and at last as the installation has it. CPU or memory alone takes
    the other along as far as Fargate needs it.
    """

    cpu: Annotated[_Number | None, Field(description="vCPUs: 0.25, 0.5, 1, 2, 4, 8 or 16.")] = None
    memory: Annotated[_Number | None, Field(description="GB of memory, as Fargate has it for the CPU.")] = None
    disk: Annotated[
        Annotated[int, Field(ge=DISK[0], le=DISK[-1])] | None,
        Field(description=f"GB of disk, {DISK[0]} to {DISK[-1]}."),
    ] = None
    architecture: Annotated[
        Literal["arm64", "x86_64"] | None,
        Field(
            description="What the root's providers need: a root is refused where the installation's runners are others."
        ),
    ] = None
    apply_timeout: Annotated[
        Annotated[str, AfterValidator(_duration)] | None,
        Field(description=f"How long an apply may take, such as `90m`; {duration_text(APPLY_SECONDS[-1])} at most."),
    ] = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if problem := size_problem(self.needs):
            raise refused(*problem)
        return self

    @property
    def needs(self) -> RunnerNeeds:
        """What it asks for."""
        return RunnerNeeds(
            cpu_units(self.cpu or 0),
            memory_mib(self.memory or 0),
            self.disk or 0,
            self.architecture or "",
            duration(self.apply_timeout) if self.apply_timeout else 0,
        )

    def text(self, line: int) -> RunnerText:
        """Return what is said, in which line."""
        return RunnerText(self.needs, line)


Runner = Annotated[
    RunnerSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=RunnerSection | None),
    Field(
        description="The size of the runner and the time of an apply: [see there](workflows.md#large-and-long-roots)."
    ),
]

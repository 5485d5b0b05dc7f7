"""The keys of ``tidegate.yaml`` for the size of runners."""

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
            f"{shown(text)} is not a valid time limit for an apply",
            f"Write minutes or hours, such as 90m or 6h, at most {longest}",
        ) from None
    return text


_Number = Annotated[float, Field(ge=0.25, le=120)]


class RunnerSection(Section):
    """The runner's size: one that Fargate offers and the installation allows. Only the default branch's file counts.

    Missing keys inherit from the surrounding section, and finally from the installation. If you set only CPU or memory,
    Tidegate adjusts the other as far as Fargate requires.
    """

    cpu: Annotated[_Number | None, Field(description="Number of vCPUs: 0.25, 0.5, 1, 2, 4, 8 or 16.")] = None
    memory: Annotated[
        _Number | None, Field(description="Memory in GB; Fargate defines which values go with each CPU size.")
    ] = None
    disk: Annotated[
        Annotated[int, Field(ge=DISK[0], le=DISK[-1])] | None,
        Field(description=f"Disk in GB, {DISK[0]} to {DISK[-1]}."),
    ] = None
    architecture: Annotated[
        Literal["arm64", "x86_64"] | None,
        Field(
            description=(
                "The CPU architecture that the root's providers need. Tidegate refuses the root if the "
                "installation's runners have another one."
            )
        ),
    ] = None
    apply_timeout: Annotated[
        Annotated[str, AfterValidator(_duration)] | None,
        Field(description=f"The time limit of an apply, such as `90m`; at most {duration_text(APPLY_SECONDS[-1])}."),
    ] = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if problem := size_problem(self.needs):
            raise refused(*problem)
        return self

    @property
    def needs(self) -> RunnerNeeds:
        """The requested size."""
        return RunnerNeeds(
            cpu_units(self.cpu or 0),
            memory_mib(self.memory or 0),
            self.disk or 0,
            self.architecture or "",
            duration(self.apply_timeout) if self.apply_timeout else 0,
        )

    def text(self, line: int) -> RunnerText:
        """Return the declaration with its line."""
        return RunnerText(self.needs, line)


Runner = Annotated[
    RunnerSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=RunnerSection | None),
    Field(
        description=(
            "The size of the runner and the time limit of an apply: see [large and long "
            "roots](workflows.md#large-and-long-roots)."
        )
    ),
]

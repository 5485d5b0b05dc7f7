"""The keys of ``tidegate.yaml``. Their descriptions are what docs/configuration.md and editors show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tidegate.config.values import (
    Count,
    Directory,
    DirectoryAsWritten,
    Flag,
    FormatVersion,
    Patterns,
    Query,
    RootName,
    Tags,
    Version,
    Workspace,
    empty_if_absent,
    engine_alone,
    patterns_alone,
    refused,
    review_alone,
)
from tidegate.domain.requirements import Requirements
from tidegate.domain.review_rule import PlanReview, ReviewRule
from tidegate.domain.root import Engine, EngineName

FILE = "tidegate.yaml"

#: What changes a root when nothing else is said: files of its directory and below.
WHEN_MODIFIED = ("**/*.tf*", "**/*.tofu*", ".terraform.lock.hcl")


class Section(BaseModel):
    """A mapping of the file: other keys than its fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FilePatterns(Section):
    """The long form of `when_modified`."""

    file_patterns: Annotated[Patterns, Field(description="The patterns.")]


class EngineSection(Section):
    """Which program, and exactly which version of it. The name alone will do: `engine: tofu`."""

    name: Annotated[EngineName, Field(description="The program.")] = EngineName.TERRAFORM
    version: Annotated[
        Version | None, Field(description="The exact version, such as 1.11.4; else the installation's default.")
    ] = None

    @property
    def engine(self) -> Engine:
        return Engine(self.name, self.version)


class ReviewSection(Section):
    """Which plans wait for people, and for whom. The word alone will do: `plan_review: manual`.

    What is left open is as it is around the section.
    """

    when: Annotated[
        PlanReview | None,
        Field(description="Which plans with changes wait: all, those of deploys by hand, or none."),
    ] = None
    approvals: Annotated[Count | None, Field(description="How many people must confirm, each once.")] = None
    exclude_authors: Annotated[
        Flag | None, Field(description="Whether those who made the change, or asked for the deploy, do not count.")
    ] = None

    def rule(self, around: ReviewRule) -> ReviewRule:
        """Return the rule, where ``around`` says what this section leaves open."""
        return ReviewRule(
            self.when or around.when,
            self.approvals or around.approvals,
            around.exclude_authors if self.exclude_authors is None else self.exclude_authors,
        )


class ApprovedSection(Section):
    """How many people must have approved a pull request before it is deployed by hand."""

    enabled: Annotated[Flag, Field(description="Whether it is required.")] = True
    any_of_count: Annotated[
        Count, Field(description="How many people must approve the current head, its author not counted.")
    ] = 1


class RequirementSection(Section):
    """A requirement that has nothing to set."""

    enabled: Annotated[Flag, Field(description="Whether it is required.")] = True


Approved = Annotated[
    ApprovedSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=ApprovedSection | None),
    Field(description="People must have approved the current head."),
]
MergeConflicts = Annotated[
    RequirementSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=RequirementSection | None),
    Field(description="The branch can be merged."),
]
StatusChecks = Annotated[
    RequirementSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=RequirementSection | None),
    Field(description="All checks of others on the head succeeded."),
]


class _Required(Section):
    """What may be required."""

    approved: Approved = None
    merge_conflicts: MergeConflicts = None
    status_checks: StatusChecks = None

    @property
    def requirements(self) -> Requirements:
        return Requirements(
            approvals=self.approved.any_of_count if self.approved and self.approved.enabled else 0,
            mergeable=self.merge_conflicts is not None and self.merge_conflicts.enabled,
            checks=self.status_checks is not None and self.status_checks.enabled,
        )


class CheckSection(_Required):
    """What some roots require. What is not named is not required."""

    tag_query: Annotated[Query, Field(description="The roots: the first check whose query matches counts for a root.")]


class RequirementsSection(_Required):
    """What a pull request must fulfil before it is deployed by hand; what is not named is not required.

    Either the same for every root, or `checks`, one of which must match.
    """

    checks: Annotated[
        tuple[CheckSection, ...] | None,
        Field(
            max_length=200, description="Requirements by root. A root that no check matches is not deployed by hand."
        ),
    ] = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.checks is not None and (self.model_fields_set - {"checks"}):
            raise refused(
                "'checks' stands beside requirements for every root",
                "Move them into a last check with tag_query: ''",
            )
        return self


EngineChoice = Annotated[
    EngineSection, BeforeValidator(engine_alone, json_schema_input_type=EngineName | EngineSection)
]
ReviewChoice = Annotated[
    ReviewSection, BeforeValidator(review_alone, json_schema_input_type=PlanReview | ReviewSection)
]
PatternsChoice = Annotated[Patterns, BeforeValidator(patterns_alone, json_schema_input_type=list[str] | FilePatterns)]
_When = Annotated[
    PatternsChoice | None,
    Field(description="Patterns of the files that change the root, as in .gitignore, relative to its directory."),
]
_Engine = Annotated[EngineChoice | None, Field(description="The engine, if it is not that of the file.")]
_Review = Annotated[ReviewChoice | None, Field(description="Who reviews its plans, if not as for the whole file.")]
_Name = Annotated[
    RootName | None,
    Field(description="Its name, of letters, digits, '.', '_', '-' and '/'; else its directory, with the workspace."),
]
_Tags = Annotated[Tags, Field(description="Tags, which tag queries ask for.")]


class RootSection(Section):
    """One root of the list `roots`."""

    name: _Name = None
    dir: Annotated[Directory, Field(description="Its directory, from the repository's top.")]
    workspace: Annotated[Workspace, Field(description="Its workspace.")] = "default"
    tags: _Tags = ()
    when_modified: _When = None
    engine: _Engine = None
    plan_review: _Review = None


class WorkspaceSection(Section):
    """One workspace of a directory. What it leaves open is as for the directory; tags add up."""

    name: _Name = None
    tags: _Tags = ()
    when_modified: _When = None
    engine: _Engine = None
    plan_review: _Review = None


class DirectorySection(Section):
    """One directory of the mapping `dirs`; without `workspaces` it has the one named `default`."""

    name: _Name = None
    tags: _Tags = ()
    workspaces: Annotated[
        dict[
            Workspace,
            Annotated[
                WorkspaceSection, BeforeValidator(empty_if_absent, json_schema_input_type=WorkspaceSection | None)
            ],
        ],
        Field(description="Its workspaces by name, each of which is a root."),
    ] = {}
    when_modified: _When = None
    engine: _Engine = None
    plan_review: _Review = None


class Configuration(Section):
    """The whole file. Without `roots` and `dirs`, roots are discovered as if there were no file."""

    version: Annotated[FormatVersion, Field(description="The version of this format.")]
    engine: Annotated[EngineChoice, Field(description="The engine of roots that name none.")] = EngineSection()
    when_modified: Annotated[
        PatternsChoice, Field(description="Patterns of the files that change a root, for roots that name none.")
    ] = WHEN_MODIFIED
    plan_review: Annotated[ReviewChoice, Field(description="Who reviews plans.")] = ReviewSection()
    apply_requirements: Annotated[
        RequirementsSection,
        BeforeValidator(empty_if_absent, json_schema_input_type=RequirementsSection | None),
        Field(description="What a pull request must fulfil before it is deployed by hand."),
    ] = RequirementsSection()
    roots: Annotated[tuple[RootSection, ...] | None, Field(description="Root modules, as a list.")] = None
    dirs: Annotated[
        dict[
            DirectoryAsWritten,
            Annotated[
                DirectorySection, BeforeValidator(empty_if_absent, json_schema_input_type=DirectorySection | None)
            ],
        ]
        | None,
        Field(description="Root modules by directory, with their workspaces."),
    ] = None

    @property
    def declares_roots(self) -> bool:
        return self.roots is not None or self.dirs is not None


_REQUIRED: dict[tuple[str, ...], type[Section]] = {
    ("approved",): ApprovedSection,
    ("merge_conflicts",): RequirementSection,
    ("status_checks",): RequirementSection,
}
_OF_ROOTS: dict[tuple[str, ...], type[Section]] = {("engine",): EngineSection, ("plan_review",): ReviewSection}
#: The sections by their place in the file, where ``*`` stands for any name or number.
SECTIONS: dict[tuple[str, ...], type[Section]] = {
    (): Configuration,
    **_OF_ROOTS,
    ("apply_requirements",): RequirementsSection,
    **{("apply_requirements", *path): section for path, section in _REQUIRED.items()},
    ("apply_requirements", "checks", "*"): CheckSection,
    **{("apply_requirements", "checks", "*", *path): section for path, section in _REQUIRED.items()},
    ("roots", "*"): RootSection,
    **{("roots", "*", *path): section for path, section in _OF_ROOTS.items()},
    ("dirs", "*"): DirectorySection,
    **{("dirs", "*", *path): section for path, section in _OF_ROOTS.items()},
    ("dirs", "*", "workspaces", "*"): WorkspaceSection,
    **{("dirs", "*", "workspaces", "*", *path): section for path, section in _OF_ROOTS.items()},
}


def keys_at(path: Sequence[str | int]) -> list[str]:
    """Return the keys that are allowed in the section at a path of the file."""
    for pattern, section in SECTIONS.items():
        if len(pattern) == len(path) and all(want in {"*", have} for want, have in zip(pattern, path, strict=True)):
            return list(section.model_fields)
    return []

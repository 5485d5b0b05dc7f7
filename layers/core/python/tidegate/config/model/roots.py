"""The keys of ``tidegate.yaml`` that roots have: engine, reviews, files that change them, tags."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from tidegate.config.declarations import EngineText
from tidegate.config.model.aws import Aws
from tidegate.config.model.clouds import Azure, Google
from tidegate.config.model.runner import Runner
from tidegate.config.section import Section
from tidegate.config.values import (
    Count,
    Directory,
    Flag,
    Patterns,
    RootName,
    SomeQuery,
    Tags,
    Version,
    Workspace,
    empty_if_absent,
    engine_alone,
    query_alone,
    refused,
    review_alone,
    shown,
    when_alone,
)
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.roots.rules.root import Engine, EngineName


def one_version(version: str | None, tf_version: str | None) -> None:
    """Refuse two versions that differ: ``version`` and ``tf_version`` mean the same."""
    if version and tf_version and version != tf_version:
        raise refused(
            f"'version' is {shown(version)} and 'tf_version' {shown(tf_version)}", "Keep one: both mean the same"
        )


class EngineSection(Section):
    """Which program, and exactly which version of it. The name alone will do: `engine: tofu`."""

    name: Annotated[EngineName | None, Field(description="The program; else `terraform`.")] = None
    version: Annotated[
        Version | None, Field(description="The exact version, such as 1.11.4; else the installation's default.")
    ] = None
    tf_version: Annotated[Version | None, Field(description="The same as `version`.")] = None

    @model_validator(mode="after")
    def _one_version(self) -> Self:
        one_version(self.version, self.tf_version)
        return self

    @property
    def engine(self) -> Engine:
        return Engine(self.name or EngineName.TERRAFORM, self.version or self.tf_version)

    def text(self, line: int) -> EngineText:
        """Return the engine as it is written, in which line."""
        return EngineText(self.name, self.version or self.tf_version, line)


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
        Flag | None,
        Field(description="Whether those who made or pushed the change, or asked for the deploy, do not count."),
    ] = None

    def rule(self, around: ReviewRule) -> ReviewRule:
        """Return the rule, where ``around`` says what this section leaves open."""
        return ReviewRule(
            self.when or around.when,
            self.approvals or around.approvals,
            around.exclude_authors if self.exclude_authors is None else self.exclude_authors,
        )


class DependsOnSection(Section):
    """The long form of `depends_on`. The query alone will do."""

    tag_query: Annotated[SomeQuery, Field(description="The roots of the same stack that it depends on.")]


DependsOn = Annotated[DependsOnSection, BeforeValidator(query_alone, json_schema_input_type=str | DependsOnSection)]


class WhenModifiedSection(Section):
    """What changes roots. A list of patterns alone will do. What is left open is as it is around the section."""

    file_patterns: Annotated[
        Patterns | None,
        Field(description="Patterns of the files that change the root, as in .gitignore, relative to its directory."),
    ] = None
    depends_on: Annotated[
        DependsOn | None,
        Field(description="A tag query: when one of these roots changes, this one runs too, after them."),
    ] = None
    follow_modules: Annotated[
        Flag | None,
        Field(
            description="Whether changes of the local modules that it uses, also through others, change it as well; "
            "`true` if nothing says it."
        ),
    ] = None
    autoplan: Annotated[
        Flag | None,
        Field(description="Whether its changes are planned and deployed without being asked for; else by hand."),
    ] = None


EngineChoice = Annotated[
    EngineSection, BeforeValidator(engine_alone, json_schema_input_type=EngineName | EngineSection)
]
ReviewChoice = Annotated[
    ReviewSection, BeforeValidator(review_alone, json_schema_input_type=PlanReview | ReviewSection)
]
WhenModified = Annotated[
    WhenModifiedSection, BeforeValidator(when_alone, json_schema_input_type=list[str] | WhenModifiedSection)
]
_When = Annotated[WhenModified | None, Field(description="What changes it, if not as for the whole file.")]
_Engine = Annotated[EngineChoice | None, Field(description="The engine, if it is not that of the file.")]
_Review = Annotated[ReviewChoice | None, Field(description="Who reviews its plans, if not as for the whole file.")]
_Name = Annotated[
    RootName | None,
    Field(description="Its name, of letters, digits, '.', '_', '-' and '/'; else its directory, with the workspace."),
]
_Destroy = Annotated[
    Flag | None,
    Field(
        description="Whether all that it made is destroyed, in place of deploying it. Such a plan is always reviewed; "
        "delete the directory once it is applied."
    ),
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
    destroy: _Destroy = None
    aws: Aws = None
    runner: Runner = None
    google: Google = None
    azure: Azure = None


class WorkspaceSection(Section):
    """One workspace of a directory. What it leaves open is as for the directory; tags add up."""

    name: _Name = None
    tags: _Tags = ()
    when_modified: _When = None
    engine: _Engine = None
    plan_review: _Review = None
    destroy: _Destroy = None
    aws: Aws = None
    runner: Runner = None
    google: Google = None
    azure: Azure = None


class DirectorySection(Section):
    """One directory of the mapping `dirs`; without `workspaces` it has the one named `default`.

    A key with `*` stands for all directories with a root module that fit, such as `live/*` or `live/**`. A directory
    with a key of its own does not count there; of several such keys the longest counts, and nothing is merged.
    """

    root: Annotated[
        Flag | None,
        Field(
            description="Whether it is a root. `true` with a `*`: every module that fits is one, unless others use it; "
            "`false`: none is, and a file with only such keys leaves all others as they are."
        ),
    ] = None
    name: _Name = None
    tags: _Tags = ()
    workspaces: Annotated[
        dict[
            Workspace,
            Annotated[
                WorkspaceSection, BeforeValidator(empty_if_absent, json_schema_input_type=WorkspaceSection | None)
            ],
        ],
        BeforeValidator(empty_if_absent),
        Field(default_factory=dict, description="Its workspaces by name, each of which is a root."),
    ]
    when_modified: _When = None
    engine: _Engine = None
    plan_review: _Review = None
    destroy: _Destroy = None
    aws: Aws = None
    runner: Runner = None
    google: Google = None
    azure: Azure = None

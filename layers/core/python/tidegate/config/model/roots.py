"""The keys of ``tidegate.yaml`` for roots: engine, reviews, files that trigger them, tags."""

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
            f"'version' is {shown(version)} and 'tf_version' {shown(tf_version)}", "Keep one: they mean the same"
        )


class EngineSection(Section):
    """The engine and its exact version. Short form: `engine: tofu`."""

    name: Annotated[EngineName | None, Field(description="The engine. By default, `terraform`.")] = None
    version: Annotated[
        Version | None, Field(description="The exact version, such as 1.11.4. By default, the installation's.")
    ] = None
    tf_version: Annotated[Version | None, Field(description="Another name for `version`.")] = None

    @model_validator(mode="after")
    def _one_version(self) -> Self:
        one_version(self.version, self.tf_version)
        return self

    @property
    def engine(self) -> Engine:
        return Engine(self.name or EngineName.TERRAFORM, self.version or self.tf_version)

    def text(self, line: int) -> EngineText:
        """Return the engine as written, with its line."""
        return EngineText(self.name, self.version or self.tf_version, line)


class ReviewSection(Section):
    """Which plans need a review, and by whom. Short form: `plan_review: manual`.

    Missing keys inherit from the surrounding section.
    """

    when: Annotated[
        PlanReview | None,
        Field(description="Which plans with changes need a review: all, those of manual deployments, or none."),
    ] = None
    approvals: Annotated[Count | None, Field(description="How many people must approve.")] = None
    exclude_authors: Annotated[
        Flag | None,
        Field(
            description="Whether to ignore approvals by those who authored or pushed the change, or requested "
            "the deployment."
        ),
    ] = None

    def rule(self, around: ReviewRule) -> ReviewRule:
        """Return the rule, with ``around`` as the defaults."""
        return ReviewRule(
            self.when or around.when,
            self.approvals or around.approvals,
            around.exclude_authors if self.exclude_authors is None else self.exclude_authors,
        )


class DependsOnSection(Section):
    """The long form of `depends_on`. Short form: just the query."""

    tag_query: Annotated[
        SomeQuery, Field(description="A tag query that selects the roots of the same stack that this root depends on.")
    ]


DependsOn = Annotated[DependsOnSection, BeforeValidator(query_alone, json_schema_input_type=str | DependsOnSection)]


class WhenModifiedSection(Section):
    """What triggers roots. Short form: just a list of patterns. Missing keys inherit from the surrounding section."""

    file_patterns: Annotated[
        Patterns | None,
        Field(
            description="Patterns of files that trigger the root when they change, as in .gitignore, relative "
            "to its directory."
        ),
    ] = None
    depends_on: Annotated[
        DependsOn | None,
        Field(description="A tag query: when one of the matching roots changes, this root runs too, after them."),
    ] = None
    follow_modules: Annotated[
        Flag | None,
        Field(
            description="Whether changes to local modules that the root uses, directly or indirectly, trigger it. By "
            "default, `true`."
        ),
    ] = None
    autoplan: Annotated[
        Flag | None,
        Field(description="Whether Tidegate plans and deploys changes automatically. If `false`, you request each."),
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
_When = Annotated[
    WhenModified | None,
    Field(description="Which file changes trigger the root, if different from the rest of the file."),
]
_Engine = Annotated[EngineChoice | None, Field(description="The engine, if different from the rest of the file.")]
_Review = Annotated[
    ReviewChoice | None, Field(description="Which of its plans need a review, if different from the rest of the file.")
]
_Name = Annotated[
    RootName | None,
    Field(description="Its name: letters, digits, '.', '_', '-' and '/'. By default, its directory and workspace."),
]
_Destroy = Annotated[
    Flag | None,
    Field(
        description="Whether to destroy all of the root's resources instead of deploying it. Such a plan always "
        "needs a review. Delete the directory once it is applied."
    ),
]
_Tags = Annotated[Tags, Field(description="Tags, which tag queries match.")]


class RootSection(Section):
    """One root of the list `roots`."""

    name: _Name = None
    dir: Annotated[Directory, Field(description="Its directory, relative to the repository's root.")]
    workspace: Annotated[Workspace, Field(description="Its Terraform workspace.")] = "default"
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
    """One workspace of a directory. Missing keys inherit from the directory; tags are combined."""

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
    """One directory of the mapping `dirs`. Without `workspaces`, it has the workspace `default`.

    A key with `*`, such as `live/*` or `live/**`, applies to all matching directories with a root module, except those
    with their own key. If several keys match, the longest applies; they are not merged.
    """

    root: Annotated[
        Flag | None,
        Field(
            description="Whether this directory is a root. `true` for a pattern with `*`: each matching module is a "
            "root, unless other modules use it. `false`: none is; a file with only such keys does not "
            "affect other directories."
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
        Field(default_factory=dict, description="Its workspaces by name. Each is a root."),
    ]
    when_modified: _When = None
    engine: _Engine = None
    plan_review: _Review = None
    destroy: _Destroy = None
    aws: Aws = None
    runner: Runner = None
    google: Google = None
    azure: Azure = None

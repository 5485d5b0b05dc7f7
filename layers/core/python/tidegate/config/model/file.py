"""The whole ``tidegate.yaml``. docs/configuration.md and editors show the descriptions of keys."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from tidegate.config import section
from tidegate.config.model.apply import Apply, MergeAfterApply
from tidegate.config.model.aws import Aws
from tidegate.config.model.branches import BranchTagsSection, Destination, DriftSection
from tidegate.config.model.clone import CloneSection
from tidegate.config.model.clouds import Azure, Google
from tidegate.config.model.clusters import MOST_CLUSTERS, ClusterSection
from tidegate.config.model.config_updates import ConfigUpdatesSection
from tidegate.config.model.freeze import FreezeSection
from tidegate.config.model.notifications import MOST_SUBSCRIPTIONS, NotificationSection
from tidegate.config.model.policies import MOST_SETS, PolicySetName, PolicySetSection
from tidegate.config.model.pull_requests import PullRequestsSection
from tidegate.config.model.rights import AccessSection, RequirementsSection
from tidegate.config.model.roots import (
    DirectorySection,
    EngineChoice,
    ReviewChoice,
    ReviewSection,
    RootSection,
    WhenModified,
    WhenModifiedSection,
)
from tidegate.config.model.runner import Runner
from tidegate.config.model.stacks import StacksSection
from tidegate.config.model.workflows import HooksSection, WorkflowSection
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.config.section import Section
from tidegate.config.values import DirectoryAsWritten, FormatVersion, MaskPattern, as_list, empty_if_absent
from tidegate.deploys.rules.mask_pattern import MOST_PATTERNS

FILE = "tidegate.yaml"

#: The default of what triggers a root: files in and below its directory.
WHEN_MODIFIED = ("**/*.tf*", "**/*.tofu*", ".terraform.lock.hcl")

_Empty = BeforeValidator(empty_if_absent)


class Configuration(Section):
    """The whole file. Without `roots` and `dirs`, Tidegate discovers roots as if there were no file."""

    version: Annotated[FormatVersion, Field(description="The version of the file format.")] = 1
    engine: Annotated[EngineChoice | None, Field(description="The engine for roots that do not set their own.")] = None
    when_modified: Annotated[
        WhenModified, Field(description="Which file changes trigger roots that do not set this themselves.")
    ] = WhenModifiedSection()
    plan_review: Annotated[ReviewChoice, Field(description="Which plans need a review, and by how many people.")] = (
        ReviewSection()
    )
    roots: Annotated[tuple[RootSection, ...] | None, Field(description="A list of root modules.")] = None
    dirs: Annotated[
        dict[
            DirectoryAsWritten,
            Annotated[
                DirectorySection, BeforeValidator(empty_if_absent, json_schema_input_type=DirectorySection | None)
            ],
        ]
        | None,
        Field(description="Root modules by directory or directory pattern, with their workspaces."),
    ] = None
    stacks: Annotated[
        StacksSection,
        BeforeValidator(empty_if_absent, json_schema_input_type=StacksSection | None),
        Field(description="Groups of roots with their own variables, engine, and ordering rules."),
    ] = StacksSection.model_validate({})
    workflows: Annotated[
        tuple[WorkflowSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[WorkflowSection]),
        Field(max_length=200, description="The steps that plan and apply jobs run."),
    ] = ()
    hooks: Annotated[
        HooksSection,
        BeforeValidator(empty_if_absent, json_schema_input_type=HooksSection | None),
        Field(description="Steps that run before and after every workflow."),
    ] = HooksSection()
    access_control: Annotated[
        AccessSection | None,
        _Empty,
        Field(description="Who may do what. By default, everybody with write permission may do everything."),
    ] = None
    apply_requirements: Annotated[
        RequirementsSection,
        BeforeValidator(empty_if_absent, json_schema_input_type=RequirementsSection | None),
        Field(description="What every apply requires, after a merge or started manually."),
    ] = RequirementsSection()
    apply: Apply = ApplyMode.ON_MERGE
    merge_after_apply: MergeAfterApply = None
    tags: Annotated[
        BranchTagsSection,
        BeforeValidator(empty_if_absent, json_schema_input_type=BranchTagsSection | None),
        Field(description="Tags that roots get from the branches of a change."),
    ] = BranchTagsSection.model_validate({})
    aws: Aws = None
    runner: Runner = None
    google: Google = None
    azure: Azure = None
    mask_patterns: Annotated[
        tuple[MaskPattern, ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(
            max_length=MOST_PATTERNS,
            description="Regular expressions for text to mask in logs, besides values that the plan marks as "
            "sensitive: see [their syntax](workflows.md#mask-more-than-the-plan-tells).",
        ),
    ] = ()
    clone: Annotated[
        CloneSection,
        BeforeValidator(empty_if_absent, json_schema_input_type=CloneSection | None),
        Field(description="What jobs clone besides the repository itself."),
    ] = CloneSection()
    destination_branches: Annotated[
        tuple[Destination, ...],
        BeforeValidator(as_list, json_schema_input_type=list[Destination]),
        Field(
            max_length=100,
            description="Branches whose pull requests are planned. Without it, that is the default branch alone.",
        ),
    ] = ()
    pull_requests: Annotated[
        PullRequestsSection,
        BeforeValidator(empty_if_absent, json_schema_input_type=PullRequestsSection | None),
        Field(description="How pull requests are planned."),
    ] = PullRequestsSection()
    policy_sets: Annotated[
        dict[PolicySetName, PolicySetSection],
        BeforeValidator(empty_if_absent, json_schema_input_type=dict[str, PolicySetSection] | None),
        Field(default_factory=dict, max_length=MOST_SETS, description="Policy sets (Rego) that check plans."),
    ]
    freeze: Annotated[
        tuple[FreezeSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[FreezeSection]),
        Field(max_length=100, description="Freeze windows, in which Tidegate applies nothing."),
    ] = ()
    notifications: Annotated[
        tuple[NotificationSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[NotificationSection]),
        Field(max_length=MOST_SUBSCRIPTIONS, description="Who is notified of what happens."),
    ] = ()
    drift: Annotated[DriftSection | None, _Empty, Field(description="Drift detection.")] = None
    clusters: Annotated[
        tuple[ClusterSection, ...],
        BeforeValidator(as_list, json_schema_input_type=list[ClusterSection]),
        Field(max_length=MOST_CLUSTERS, description="Kubernetes clusters, each a root."),
    ] = ()
    config_updates: Annotated[
        ConfigUpdatesSection | None,
        BeforeValidator(empty_if_absent, json_schema_input_type=ConfigUpdatesSection),
        Field(description="How images get into a config repository, and from environment to environment."),
    ] = None

    @property
    def declares_roots(self) -> bool:
        """Whether the file names all roots. Directories with ``root: false`` do not count."""
        named = self.dirs is not None and (not self.dirs or any(each.root is not False for each in self.dirs.values()))
        return self.roots is not None or named

    @property
    def apply_rules(self) -> ApplyRules:
        return ApplyRules(self.apply, self.merge_after_apply)


#: The sections by their path in the file, where ``*`` stands for any name or number.
SECTIONS = section.sections_of(Configuration)

"""The keys of ``tidegate.yaml`` for stacks."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from tidegate.changes.rules.stack import RunStrategy, StackRules
from tidegate.changes.rules.waits import AwaitedEnvironment
from tidegate.config.declarations import EngineText
from tidegate.config.model.aws import Aws
from tidegate.config.model.clouds import Azure, Google
from tidegate.config.model.roots import one_version
from tidegate.config.model.runner import Runner
from tidegate.config.rules.config_updates import NAME
from tidegate.config.section import Section
from tidegate.config.step_values import EngineNameText, Value, VariableName, VersionText
from tidegate.config.values import (
    Flag,
    Query,
    Repository,
    StackName,
    StackNames,
    as_list,
    duration,
    empty_if_absent,
    engine_alone,
    length,
    refused,
    shown,
)
from tidegate.roots.rules.root import EngineName

#: The limit of stacks per file.
MOST_STACKS = 1000

#: Deployments of a stack at once, or failures: roots of a repository at most.
_MOST_ROOTS = 10_000
#: How long a stack soaks: who waits for it waits for its reviews and freezes too, four weeks in all.
_LONGEST_SOAK = timedelta(days=7)

#: Total characters of a stack's variables: they are stored with each of its deployments.
_LONGEST_TOGETHER = 10_000


class EngineTextSection(Section):
    """The engine and its exact version. Both may contain `${STACK_VAR_NAME}`. Short form: just the name."""

    name: Annotated[
        EngineNameText | None, Field(description="The engine, `terraform` or `tofu`. By default, the file's.")
    ] = None
    version: Annotated[VersionText | None, Field(description="The exact version, such as 1.11.4.")] = None
    tf_version: Annotated[VersionText | None, Field(description="Another name for `version`.")] = None

    @model_validator(mode="after")
    def _one_version(self) -> Self:
        one_version(self.version, self.tf_version)
        return self

    def text(self, line: int) -> EngineText:
        """Return the engine as written, with its line."""
        return EngineText(self.name, self.version or self.tf_version, line)


EngineTextChoice = Annotated[
    EngineTextSection, BeforeValidator(engine_alone, json_schema_input_type=EngineName | EngineTextSection)
]


def _environment(text: str) -> str:
    image_set, _, name = text.partition("/")
    if not NAME.fullmatch(image_set) or not NAME.fullmatch(name):
        raise refused(f"{shown(text)} is not an environment", "Write SET/ENVIRONMENT, such as shop/production")
    return text


class AwaitedEnvironmentSection(Section):
    """An environment of a config repository. The repository must be among the installation's `update_repositories`."""

    repository: Annotated[Repository, Field(description="The config repository, as `OWNER/NAME`.")]
    environment: Annotated[
        str,
        AfterValidator(_environment),
        Field(description="The environment, as `SET/ENVIRONMENT`: its targets have deployed what is newest there."),
    ]

    @property
    def awaited(self) -> AwaitedEnvironment:
        return AwaitedEnvironment(self.repository, self.environment)


def _kind(value: Any) -> str:
    return "environment" if isinstance(value, dict | AwaitedEnvironmentSection) else "stack"


_First = Annotated[
    Annotated[StackName, Tag("stack")] | Annotated[AwaitedEnvironmentSection, Tag("environment")], Discriminator(_kind)
]
#: Stacks, and environments of config repositories.
_Firsts = Annotated[
    tuple[_First, ...],
    Field(max_length=1000),
    BeforeValidator(as_list, json_schema_input_type=list[StackName | AwaitedEnvironmentSection]),
]


class OnChangeSection(Section):
    """What happens when roots of the stack change."""

    can_apply_after: Annotated[
        _Firsts, Field(description="The same as `rules.apply_after`. If you set several, all apply.")
    ] = ()
    apply_after: Annotated[
        _Firsts, Field(description="The same as `rules.apply_after`. If you set several, all apply.")
    ] = ()
    run_strategy: Annotated[
        RunStrategy | None,
        Field(description="Which roots run when some of the stack change: only those, or all of the stack."),
    ] = None


class RulesSection(Section):
    """Rules of a stack in one change: its order among others, and its rollout. A stack group's apply to its stacks."""

    apply_after: Annotated[
        _Firsts,
        Field(
            description="Stacks that must be applied before Tidegate applies this stack, within the same change; and "
            "environments of config repositories that must be complete: see [config updates](config-updates.md)."
        ),
    ] = ()
    plan_after: Annotated[
        StackNames | None,
        Field(description="Stacks that must be applied before Tidegate plans this stack, within the same change."),
    ] = None
    modified_by: Annotated[
        StackNames,
        Field(
            description="Stacks whose changes also trigger this stack. Without `plan_after`, this stack waits for them."
        ),
    ] = ()
    auto_apply: Annotated[
        Flag | None,
        Field(description="Whether to apply plans without a review, for roots that do not set this themselves."),
    ] = None
    max_concurrent: Annotated[
        int | None,
        Field(ge=1, le=_MOST_ROOTS, description="How many of its deployments Tidegate applies at once, in one change."),
    ] = None
    stop_on_failures: Annotated[
        int | None,
        Field(
            ge=1,
            le=_MOST_ROOTS,
            description="After so many failed deployments, or unknown outcomes, Tidegate begins no further apply of "
            "this stack in the same change until somebody retries, continues or rejects.",
        ),
    ] = None
    soak: Annotated[
        Annotated[str, duration(_LONGEST_SOAK, "7d")] | None,
        Field(
            description="How long this stack must have been applied completely before stacks after it are applied, in "
            "the same change; at most `7d`."
        ),
    ] = None
    protected: Annotated[
        Flag | None,
        Field(
            description="Whether plans that destroy or replace resources always need a review, in which people approve "
            "the destruction explicitly. See [deploys](deploys.md#protected-stacks)."
        ),
    ] = None


_Empty = BeforeValidator(empty_if_absent)


def _variables(value: Any) -> Any:
    if isinstance(value, dict) and sum(len(text) for text in value.values() if isinstance(text, str)) > (
        _LONGEST_TOGETHER
    ):
        raise refused(
            "the variables are too long", f"Their values may have at most {_LONGEST_TOGETHER} characters in total"
        )
    return empty_if_absent(value)


def _some(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    # Not pydantic's minimum, which also reports a list with a wrong name as empty.
    if names == ():
        raise refused("the stack group is empty", "List its stacks, or replace 'stacks' by a tag_query")
    return names


class StackSection(Section):
    """A stack: either the roots that `tag_query` matches, or a stack group that contains other `stacks`."""

    tag_query: Annotated[Query | None, Field(description="A tag query that selects the stack's roots.")] = None
    stacks: Annotated[
        StackNames | None,
        AfterValidator(_some),
        Field(description="The members of a stack group: stacks and other stack groups."),
    ] = None
    variables: Annotated[
        dict[VariableName, Value],
        BeforeValidator(_variables),
        Field(
            default_factory=dict,
            max_length=50,
            description=(
                "Variables by name. Use them in workflows and engines as `${STACK_VAR_NAME}`, with the name in upper "
                "case."
            ),
        ),
    ]
    engine: Annotated[
        EngineTextChoice | None, Field(description="The engine for its roots that do not set their own.")
    ] = None
    aws: Aws = None
    runner: Runner = None
    google: Google = None
    azure: Azure = None
    on_change: Annotated[
        OnChangeSection, _Empty, Field(description="Ordering between stacks, review, and which roots run.")
    ] = OnChangeSection()
    rules: Annotated[RulesSection, _Empty, Field(description="The order of stacks, and rollouts.")] = RulesSection()

    @model_validator(mode="after")
    def _leaf_or_group(self) -> Self:
        if self.tag_query is None and self.stacks is None:
            raise refused(
                "the stack has neither 'tag_query' nor 'stacks'",
                "Add tag_query to select roots, or stacks to make it a stack group",
            )
        if self.tag_query is not None and self.stacks is not None:
            raise refused(
                "the stack has both 'tag_query' and 'stacks'", "Keep one: a stack group has stacks, not roots"
            )
        return self

    @property
    def stack_rules(self) -> StackRules:
        """Return its rules, from either key."""
        gates = (*self.on_change.can_apply_after, *self.on_change.apply_after, *self.rules.apply_after)
        return StackRules(
            tuple(dict.fromkeys(each for each in gates if isinstance(each, str))),
            self.rules.plan_after,
            tuple(dict.fromkeys(self.rules.modified_by)),
            self.rules.auto_apply,
            tuple(dict.fromkeys(each.awaited for each in gates if isinstance(each, AwaitedEnvironmentSection))),
            self.rules.max_concurrent,
            self.rules.stop_on_failures,
            int(length(self.rules.soak).total_seconds()) if self.rules.soak else None,
            self.rules.protected,
        )


class StacksSection(Section):
    """Stacks. Roots that match no stack are in the stack `default`, unless the file declares a stack with this name."""

    allow_workspace_in_multiple_stacks: Annotated[
        Flag, Field(description="Whether a root may be in several stacks. Tidegate then deploys it in each.")
    ] = False
    names: Annotated[
        dict[StackName, StackSection],
        BeforeValidator(empty_if_absent),
        Field(default_factory=dict, max_length=MOST_STACKS, description="The stacks, by name."),
    ]

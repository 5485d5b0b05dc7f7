"""The keys of ``tidegate.yaml`` that make stacks."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tidegate.changes.rules.stack import RunStrategy, StackRules
from tidegate.config.declarations import EngineText
from tidegate.config.model.aws import Aws
from tidegate.config.model.clouds import Azure, Google
from tidegate.config.model.roots import one_version
from tidegate.config.model.runner import Runner
from tidegate.config.section import Section
from tidegate.config.step_values import EngineNameText, Value, VariableName, VersionText
from tidegate.config.values import Flag, Query, StackName, StackNames, empty_if_absent, engine_alone, refused
from tidegate.roots.rules.root import EngineName

#: Stacks of one file.
MOST_STACKS = 1000

#: Letters that all variables of a stack may have together: they travel with each of its deployments.
_LONGEST_TOGETHER = 10_000


class EngineTextSection(Section):
    """Which program, and exactly which version of it; both may hold `${STACK_VAR_NAME}`. The name alone will do."""

    name: Annotated[
        EngineNameText | None, Field(description="The program, `terraform` or `tofu`; else that of the file.")
    ] = None
    version: Annotated[VersionText | None, Field(description="The exact version, such as 1.11.4.")] = None
    tf_version: Annotated[VersionText | None, Field(description="The same as `version`.")] = None

    @model_validator(mode="after")
    def _one_version(self) -> Self:
        one_version(self.version, self.tf_version)
        return self

    def text(self, line: int) -> EngineText:
        """Return the engine as it is written, in which line."""
        return EngineText(self.name, self.version or self.tf_version, line)


EngineTextChoice = Annotated[
    EngineTextSection, BeforeValidator(engine_alone, json_schema_input_type=EngineName | EngineTextSection)
]


class OnChangeSection(Section):
    """What happens when roots of the stack change."""

    can_apply_after: Annotated[StackNames, Field(description="The same as `apply_after` of `rules`; all add up.")] = ()
    apply_after: Annotated[StackNames, Field(description="The same as `apply_after` of `rules`; all add up.")] = ()
    run_strategy: Annotated[
        RunStrategy | None, Field(description="Which roots run when some changed: those alone, or all of the stack.")
    ] = None


class RulesSection(Section):
    """Rules between stacks. A nest's hold for all stacks in it; the name of a nest stands for all stacks in it."""

    apply_after: Annotated[
        StackNames,
        Field(description="Stacks whose part of the same change must be applied before this stack's is."),
    ] = ()
    plan_after: Annotated[
        StackNames | None,
        Field(description="Stacks whose part of the same change must be applied before this stack's is planned."),
    ] = None
    modified_by: Annotated[
        StackNames,
        Field(description="Stacks whose changes are changes of this one. Without `plan_after` it waits for them."),
    ] = ()
    auto_apply: Annotated[
        Flag | None, Field(description="Whether plans are applied without a review, where roots do not say it.")
    ] = None


_Empty = BeforeValidator(empty_if_absent)


def _variables(value: Any) -> Any:
    if isinstance(value, dict) and sum(len(text) for text in value.values() if isinstance(text, str)) > (
        _LONGEST_TOGETHER
    ):
        raise refused("the variables are too long", f"Their values may have {_LONGEST_TOGETHER} letters together")
    return empty_if_absent(value)


def _some(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    # Not a minimum of pydantic's: it tells a list with a wrong name to be empty, too.
    if names == ():
        raise refused("the nest is empty", "Name its stacks, or give it a tag_query to make it a leaf")
    return names


class StackSection(Section):
    """One stack: a leaf, which takes the roots that `tag_query` matches, or a nest, which holds other `stacks`."""

    tag_query: Annotated[Query | None, Field(description="The roots of a leaf.")] = None
    stacks: Annotated[
        StackNames | None,
        AfterValidator(_some),
        Field(description="The stacks in a nest: leaves and other nests."),
    ] = None
    variables: Annotated[
        dict[VariableName, Value],
        BeforeValidator(_variables),
        Field(
            default_factory=dict,
            max_length=50,
            description="Texts by name, which becomes upper-case: `${STACK_VAR_NAME}` in workflows and engines.",
        ),
    ]
    engine: Annotated[EngineTextChoice | None, Field(description="The engine of its roots that name none.")] = None
    aws: Aws = None
    runner: Runner = None
    google: Google = None
    azure: Azure = None
    on_change: Annotated[OnChangeSection, _Empty, Field(description="Gates, and which roots run.")] = OnChangeSection()
    rules: Annotated[RulesSection, _Empty, Field(description="Rules between stacks.")] = RulesSection()

    @model_validator(mode="after")
    def _leaf_or_group(self) -> Self:
        if self.tag_query is None and self.stacks is None:
            raise refused(
                "the stack has neither 'tag_query' nor 'stacks'",
                "Add tag_query for its roots, or stacks to make it a nest",
            )
        if self.tag_query is not None and self.stacks is not None:
            raise refused("the stack has both 'tag_query' and 'stacks'", "Keep one: a nest holds stacks, not roots")
        return self

    @property
    def stack_rules(self) -> StackRules:
        """Return its rules, under whichever key they stand."""
        gates = (*self.on_change.can_apply_after, *self.on_change.apply_after, *self.rules.apply_after)
        return StackRules(
            tuple(dict.fromkeys(gates)),
            self.rules.plan_after,
            tuple(dict.fromkeys(self.rules.modified_by)),
            self.rules.auto_apply,
        )


class StacksSection(Section):
    """Stacks. Roots that no stack takes are in one named `default`, unless the file declares a stack of this name."""

    allow_workspace_in_multiple_stacks: Annotated[
        Flag, Field(description="Whether a root may be in several stacks: it is then deployed in each.")
    ] = False
    names: Annotated[
        dict[StackName, StackSection],
        BeforeValidator(empty_if_absent),
        Field(default_factory=dict, max_length=MOST_STACKS, description="The stacks by name."),
    ]

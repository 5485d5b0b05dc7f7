"""The keys of ``tidegate.yaml`` on pull requests: what of them is planned, and what their plans may use."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from tidegate.config.declarations import PullRequestRules
from tidegate.config.rules.plan_options import ALLOWED_PLAN_ARGS, is_pattern
from tidegate.config.section import Section
from tidegate.config.values import Flag, Name, as_list, refused, shown
from tidegate.deploys.rules.speculative_plan import Checkout


def _options(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        if not is_pattern(pattern):
            raise refused(f"{shown(pattern)} is not a plan option", "Write options such as -var=region=*")
    return patterns


_Patterns = Annotated[
    tuple[Name, ...], BeforeValidator(as_list, json_schema_input_type=list[str]), Field(max_length=100)
]


_Options = Annotated[
    tuple[Name, ...],
    BeforeValidator(as_list, json_schema_input_type=list[str]),
    AfterValidator(_options),
    Field(max_length=100),
]


class PullRequestsSection(Section):
    """How pull requests are planned. Only the default branch's file counts."""

    drafts: Annotated[
        Flag,
        Field(description="Whether to plan drafts. If `false`, Tidegate plans them once they are ready for review."),
    ] = True
    checkout: Annotated[
        Checkout,
        Field(description="What is planned: `merge`, the result of merging the pull request, or `branch`, its head."),
    ] = Checkout.MERGE
    allowed_providers: Annotated[
        _Patterns | None,
        Field(
            description="Providers that plans of pull requests may use, such as `hashicorp/*`. Without it, those of "
            "HashiCorp and of the base branch's lock file, but none that run programs."
        ),
    ] = None
    allowed_modules: Annotated[
        _Patterns | None,
        Field(
            description="Sources of external modules that these plans may use, such as `terraform-aws-modules/*`. By "
            "default, only modules of the same repository."
        ),
    ] = None
    allowed_plan_args: Annotated[
        _Options,
        Field(
            description="Engine options that a comment `tidegate plan -- OPTION` may pass. `*` matches any "
            "characters: with `-var=region=*`, the comment can choose the region."
        ),
    ] = ALLOWED_PLAN_ARGS
    replan_on_base_change: Annotated[
        Flag,
        Field(
            description="Whether pull requests are planned again when the branch that they go to changes a root of "
            "theirs. If not, their comments say that the plans are older."
        ),
    ] = False

    @property
    def rules(self) -> PullRequestRules:
        return PullRequestRules(
            self.drafts,
            self.checkout,
            self.allowed_providers,
            self.allowed_modules,
            self.allowed_plan_args,
            self.replan_on_base_change,
        )

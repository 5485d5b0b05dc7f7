"""The keys of ``tidegate.yaml`` that grant and demand: access control and requirements."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.config.section import Section
from tidegate.config.values import Count, Flag, Grantees, Name, Query, as_list, empty_if_absent, refused
from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.access import EVERYBODY, Access


class ApprovedSection(Section):
    """Who must have approved a pull request before its changes are applied.

    Who opened it, pushed to it, or made or committed a commit of it, does not count. People are named as in
    `access_control`. Whoever is named twice counts once.
    """

    enabled: Annotated[Flag, Field(description="Whether it is required.")] = True
    any_of_count: Annotated[Count, Field(description="How many of `any_of` must approve the current head.")] = 1
    any_of: Annotated[
        Grantees, Field(description="Who counts; without anybody here, everybody who may write does.")
    ] = ()
    all_of: Annotated[Grantees, Field(description="Each of these must be met by somebody who approved.")] = ()

    @property
    def whom(self) -> tuple[str, ...]:
        return () if EVERYBODY in self.any_of else self.any_of


class RequirementSection(Section):
    """A requirement that has nothing to set."""

    enabled: Annotated[Flag, Field(description="Whether it is required.")] = True


class StatusChecksSection(Section):
    """Checks of others on the head."""

    enabled: Annotated[Flag, Field(description="Whether it is required.")] = True
    ignore_matching: Annotated[
        tuple[Name, ...],
        Field(max_length=100, description="Names of checks that do not hold up; `*` is any text."),
        BeforeValidator(as_list, json_schema_input_type=list[str]),
    ] = ()


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
Undiverged = Annotated[
    RequirementSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=RequirementSection | None),
    Field(
        description="The head contains the newest commit of its base branch. With `apply: in_pull_request` it is "
        "required unless `enabled: false` stands here."
    ),
]
StatusChecks = Annotated[
    StatusChecksSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=StatusChecksSection | None),
    Field(description="All checks of others on the head succeeded."),
]


class _Required(Section):
    """What may be required."""

    approved: Approved = None
    merge_conflicts: MergeConflicts = None
    undiverged: Undiverged = None
    status_checks: StatusChecks = None

    def requirements(self, rules: ApplyRules) -> Requirements:
        """Return what is required where ``rules`` say how changes are applied."""
        approved = self.approved if self.approved and self.approved.enabled else ApprovedSection(any_of_count=1)
        given = approved is self.approved
        return Requirements(
            approvals=approved.any_of_count if given else 0,
            mergeable=self.merge_conflicts is not None and self.merge_conflicts.enabled,
            undiverged=self.undiverged.enabled if self.undiverged else rules.in_pull_request,
            checks=self.status_checks is not None and self.status_checks.enabled,
            any_of=approved.whom,
            all_of=approved.all_of,
            ignore_matching=self.status_checks.ignore_matching if self.status_checks else (),
        )


class CheckSection(_Required):
    """What some roots require. What is not named is not required."""

    tag_query: Annotated[Query, Field(description="The roots: the first check whose query matches counts for a root.")]


#: What is required where changes are applied in pull requests, and nobody says what is.
_BEFORE_APPLY = Requirements(approvals=1, mergeable=True, undiverged=True)


class RequirementsSection(_Required):
    """What a pull request must fulfil before its changes are applied; what is not named is not required.

    Either the same for every root, or `checks`, one of which must match. With `apply: in_pull_request` and without this
    section, an approval is required, and a branch without conflicts.
    """

    checks: Annotated[
        tuple[CheckSection, ...] | None,
        Field(
            max_length=200,
            description="Requirements by root. A root that no check matches waits for an operator.",
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

    def requirements(self, rules: ApplyRules) -> Requirements:
        if rules.in_pull_request and not self.model_fields_set:
            return _BEFORE_APPLY
        return _Required.requirements(self, rules)


_ALL = (EVERYBODY,)


class PolicySection(Section):
    """Who may do what with some roots: lists of `user:LOGIN`, `team:SLUG`, `role:ROLE` and `*`.

    Roles are `read`, `triage`, `write`, `maintain` and `admin`, each with those above it. `*` is everybody who may
    write. An empty list is nobody.
    """

    tag_query: Annotated[Query, Field(description="The roots: the first policy whose query matches counts for a root.")]
    plan: Annotated[Grantees, Field(description="Who may ask for plans.")] = _ALL
    apply: Annotated[Grantees, Field(description="Who may ask for deploys.")] = _ALL
    unlock: Annotated[Grantees, Field(description="Who may unlock deploy queues.")] = _ALL
    review: Annotated[
        Grantees | None, Field(description="Who may confirm and reject plans; else those of `apply`.")
    ] = None

    @property
    def access(self) -> Access:
        review = self.apply if self.review is None else self.review
        return Access(_once(self.plan), _once(self.apply), _once(self.unlock), _once(review))


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


class AccessSection(Section):
    """Who may do what. Where no policy matches a root, nobody may anything: let the last have `tag_query: ''`."""

    enabled: Annotated[Flag, Field(description="Whether it counts.")] = True
    policies: Annotated[
        tuple[PolicySection, ...] | None, Field(max_length=200, description="Required, if it is enabled.")
    ] = None

    @model_validator(mode="after")
    def _has_policies(self) -> Self:
        if self.enabled and self.policies is None:
            raise refused("access control has no policies", "Add 'policies', or enabled: false")
        return self

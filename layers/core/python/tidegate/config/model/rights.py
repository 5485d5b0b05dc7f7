"""The keys of ``tidegate.yaml`` for access control and requirements."""

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

    Approvals by its author, its pushers, and the authors and committers of its commits do not count. Name people as in
    `access_control`. Each person counts once.
    """

    enabled: Annotated[Flag, Field(description="Whether this is required.")] = True
    any_of_count: Annotated[Count, Field(description="How many people of `any_of` must approve the current head.")] = 1
    any_of: Annotated[
        Grantees,
        Field(description="Whose approvals count. If empty, approvals of everybody with write permission count."),
    ] = ()
    all_of: Annotated[Grantees, Field(description="Each entry needs an approval by a person whom it matches.")] = ()

    @property
    def whom(self) -> tuple[str, ...]:
        return () if EVERYBODY in self.any_of else self.any_of


class RequirementSection(Section):
    """A requirement without settings."""

    enabled: Annotated[Flag, Field(description="Whether this is required.")] = True


class StatusChecksSection(Section):
    """Checks of other apps on the head."""

    enabled: Annotated[Flag, Field(description="Whether this is required.")] = True
    ignore_matching: Annotated[
        tuple[Name, ...],
        Field(max_length=100, description="Names of checks to ignore; `*` matches any text."),
        BeforeValidator(as_list, json_schema_input_type=list[str]),
    ] = ()


Approved = Annotated[
    ApprovedSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=ApprovedSection | None),
    Field(description="Approvals of the current head."),
]
MergeConflicts = Annotated[
    RequirementSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=RequirementSection | None),
    Field(description="The branch has no merge conflicts."),
]
Undiverged = Annotated[
    RequirementSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=RequirementSection | None),
    Field(
        description="The head contains the newest commit of its base branch. With `apply: in_pull_request` this is "
        "required unless you set `enabled: false`."
    ),
]
StatusChecks = Annotated[
    StatusChecksSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=StatusChecksSection | None),
    Field(description="All checks of other apps on the head succeeded."),
]


class _Required(Section):
    """The possible requirements."""

    approved: Approved = None
    merge_conflicts: MergeConflicts = None
    undiverged: Undiverged = None
    status_checks: StatusChecks = None

    def requirements(self, rules: ApplyRules) -> Requirements:
        """Return the requirements, given how changes are applied."""
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
    """The requirements of some roots. Only what you list is required."""

    tag_query: Annotated[
        Query,
        Field(description="A tag query that selects the roots. For each root, the first check that matches applies."),
    ]


#: The default requirements if changes are applied in pull requests.
_BEFORE_APPLY = Requirements(approvals=1, mergeable=True, undiverged=True)


class RequirementsSection(_Required):
    """What a pull request must fulfil before its changes are applied. Only what you list is required.

    Set the same requirements for every root, or `checks`, of which one must match. With `apply: in_pull_request` and
    without this section, an approval and a branch without conflicts are required.
    """

    checks: Annotated[
        tuple[CheckSection, ...] | None,
        Field(
            max_length=200,
            description="Requirements per root. A root that matches no check waits for an operator.",
        ),
    ] = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.checks is not None and (self.model_fields_set - {"checks"}):
            raise refused(
                "'checks' is not allowed beside requirements for all roots",
                "Move those requirements into a last check with tag_query: ''",
            )
        return self

    def requirements(self, rules: ApplyRules) -> Requirements:
        if rules.in_pull_request and not self.model_fields_set:
            return _BEFORE_APPLY
        return _Required.requirements(self, rules)


_ALL = (EVERYBODY,)


class PolicySection(Section):
    """Who may do what with some roots, as lists of `user:LOGIN`, `team:SLUG`, `role:ROLE` and `*`.

    Roles are `read`, `triage`, `write`, `maintain` and `admin`; each includes the higher ones. `*` means everybody with
    write permission. An empty list means nobody.
    """

    tag_query: Annotated[
        Query,
        Field(description="A tag query that selects the roots. For each root, the first policy that matches applies."),
    ]
    plan: Annotated[Grantees, Field(description="Who may request plans.")] = _ALL
    apply: Annotated[Grantees, Field(description="Who may request deployments.")] = _ALL
    unlock: Annotated[Grantees, Field(description="Who may unlock deploy queues.")] = _ALL
    review: Annotated[
        Grantees | None, Field(description="Who may approve and reject plans. By default, the people of `apply`.")
    ] = None

    @property
    def access(self) -> Access:
        review = self.apply if self.review is None else self.review
        return Access(_once(self.plan), _once(self.apply), _once(self.unlock), _once(review))


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


class AccessSection(Section):
    """Who may do what. If no policy matches a root, nobody may do anything with it: give the last policy `tag_query:
    ''`.
    """

    enabled: Annotated[Flag, Field(description="Whether access control is on.")] = True
    policies: Annotated[
        tuple[PolicySection, ...] | None,
        Field(max_length=200, description="The policies. Required if `enabled` is true."),
    ] = None

    @model_validator(mode="after")
    def _has_policies(self) -> Self:
        if self.enabled and self.policies is None:
            raise refused("access_control has no policies", "Add 'policies', or set enabled: false")
        return self

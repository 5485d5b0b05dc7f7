"""The key ``policy_sets`` of ``tidegate.yaml``: which policies check plans."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tidegate.config.section import Section
from tidegate.config.values import Count, Directory, Grantees, Query, as_list, refused, shown
from tidegate.policies.rules.policy_set import NAMESPACE, PolicySet, PolicySource
from tidegate.roots.rules.root_query import parse_tag_query

#: The limit of policy sets per file: all sets of a plan share one time limit.
MOST_SETS = 20
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,49}")
_NAMESPACE = re.compile(r"[A-Za-z_][\w-]{0,99}(?:\.[A-Za-z_][\w-]{0,99}){0,9}")


def _set_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise refused(f"{shown(text)} is not a valid policy set name", "Use at most 50 letters, digits, '-' and '_'")
    return text


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise refused(f"{shown(text)} is not a Rego package name", "Write it without 'package', such as main")
    return text


PolicySetName = Annotated[str, AfterValidator(_set_name)]
_Namespace = Annotated[str, AfterValidator(_namespace)]


class PolicySetSection(Section):
    """Rego policies that check speculative plans, and who may approve violations."""

    paths: Annotated[
        tuple[Directory, ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(max_length=20, description="Directories with policies, which Tidegate reads from the default branch."),
    ] = ()
    source: Annotated[
        PolicySource,
        Field(description="`organization` to use the files that operators store under `configuration/policies/NAME/`."),
    ] = PolicySource.REPOSITORY
    owners: Annotated[
        Grantees,
        Field(description="Who may approve violations, in the form of `access_control`. If empty, nobody may."),
    ] = ()
    approvals: Annotated[Count, Field(description="How many owners must approve.")] = 1
    namespaces: Annotated[
        tuple[_Namespace, ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(min_length=1, max_length=20, description="The Rego packages whose rules Tidegate evaluates."),
    ] = (NAMESPACE,)
    tag_query: Annotated[
        Query | None, Field(description="A tag query that selects the roots. By default, all roots.")
    ] = None

    @model_validator(mode="after")
    def _has_files(self) -> Self:
        if self.source is PolicySource.REPOSITORY and not self.paths:
            raise refused("the policy set is missing 'paths'", "List directories, or set source: organization")
        if self.source is PolicySource.ORGANIZATION and self.paths:
            raise refused(
                "'paths' is not allowed with source: organization",
                "Remove 'paths': Tidegate reads the files under configuration/policies/NAME/",
            )
        return self

    def declared(self, name: str, line: int) -> PolicySet:
        """Return the set that the section on ``line`` declares."""
        return PolicySet(
            name,
            parse_tag_query("") if self.tag_query is None else self.tag_query,
            tuple(dict.fromkeys(self.paths)),
            self.source,
            tuple(dict.fromkeys(self.owners)),
            self.approvals,
            tuple(dict.fromkeys(self.namespaces)),
            line,
        )

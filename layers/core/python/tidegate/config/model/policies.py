"""The key of ``tidegate.yaml`` that says which policies plans are held against."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tidegate.config.section import Section
from tidegate.config.values import Count, Directory, Grantees, Query, as_list, refused, shown
from tidegate.policies.rules.policy_set import NAMESPACE, PolicySet, PolicySource
from tidegate.roots.rules.root_query import parse_tag_query

#: Sets of one file: each is evaluated on every plan that it is for, in the time that all have together.
MOST_SETS = 20
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,49}")
_NAMESPACE = re.compile(r"[A-Za-z_][\w-]{0,99}(?:\.[A-Za-z_][\w-]{0,99}){0,9}")


def _set_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise refused(
            f"{shown(text)} is not usable as a policy set's name", "Write at most 50 letters, digits, - and _"
        )
    return text


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise refused(f"{shown(text)} is not a package of Rego", "Write it without 'package', such as main")
    return text


PolicySetName = Annotated[str, AfterValidator(_set_name)]
_Namespace = Annotated[str, AfterValidator(_namespace)]


class PolicySetSection(Section):
    """Policies in Rego that speculative plans are held against, and who may let pass what they refuse."""

    paths: Annotated[
        tuple[Directory, ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(max_length=20, description="Directories of the repository, read on the default branch."),
    ] = ()
    source: Annotated[
        PolicySource,
        Field(description="`organization` for the files that operators stored under `configuration/policies/NAME/`."),
    ] = PolicySource.REPOSITORY
    owners: Annotated[
        Grantees, Field(description="Who may approve, as in `access_control`; nobody may when it is empty.")
    ] = ()
    approvals: Annotated[Count, Field(description="How many different owners must approve.")] = 1
    namespaces: Annotated[
        tuple[_Namespace, ...],
        BeforeValidator(as_list, json_schema_input_type=list[str]),
        Field(min_length=1, max_length=20, description="The packages whose rules count."),
    ] = (NAMESPACE,)
    tag_query: Annotated[Query | None, Field(description="The roots that it is for; without it, all.")] = None

    @model_validator(mode="after")
    def _has_files(self) -> Self:
        if self.source is PolicySource.REPOSITORY and not self.paths:
            raise refused("the policy set has no 'paths'", "Name directories, or write source: organization")
        if self.source is PolicySource.ORGANIZATION and self.paths:
            raise refused(
                "'paths' stands beside source: organization",
                "Leave it out: the files are those under configuration/policies/NAME/",
            )
        return self

    def declared(self, name: str, line: int) -> PolicySet:
        """Return the set that the section in ``line`` declares."""
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

"""The keys of ``tidegate.yaml`` for the AWS account of roots."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tidegate.config.declarations import AwsText
from tidegate.config.section import Section
from tidegate.config.values import empty_if_absent, refused
from tidegate.deploys.rules.aws_target import (
    ACCOUNTS,
    REGIONS,
    ROLES,
    account_problem,
    region_problem,
    role_problem,
)


def _account(text: str) -> str:
    if problem := account_problem(text):
        raise refused(problem, ACCOUNTS)
    return text


def _role(text: str) -> str:
    if problem := role_problem(text):
        raise refused(problem, ROLES)
    return text


def _region(text: str) -> str:
    if problem := region_problem(text):
        raise refused(problem, REGIONS)
    return text


_Role = Annotated[str, AfterValidator(_role)]


class AwsSection(Section):
    """The AWS account, and the roles that the engine uses in it. Only the default branch's file counts.

    Missing keys inherit from the stack, then from its stack groups, then from the whole file.
    """

    account: Annotated[
        Annotated[str, AfterValidator(_account)] | None,
        Field(description="The account ID (12 digits). Required if you give roles by name."),
    ] = None
    plan_role: Annotated[
        _Role | None,
        Field(description="The role for plans (deployments, pull requests and drift detection), as a name or ARN."),
    ] = None
    apply_role: Annotated[_Role | None, Field(description="The role for applies, as a name or ARN.")] = None
    region: Annotated[
        Annotated[str, AfterValidator(_region)] | None,
        Field(description="The region that jobs get as `AWS_REGION` and `AWS_DEFAULT_REGION`."),
    ] = None

    identity: Annotated[
        Literal["role_chaining", "web_identity"] | None,
        Field(
            description="How jobs assume the roles: from the runner's role (`role_chaining`, the default), or with "
            "an OIDC token ([workload identity](identity.md))."
        ),
    ] = None

    def text(self, line: int) -> AwsText:
        """Return the declaration with its line."""
        account, region, identity = self.account or "", self.region or "", self.identity or ""
        return AwsText(account, self.plan_role or "", self.apply_role or "", region, line, identity)


Aws = Annotated[
    AwsSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=AwsSection | None),
    Field(description="The AWS account and roles for jobs, if not Tidegate's own: see [AWS accounts](accounts.md)."),
]

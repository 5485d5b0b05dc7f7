"""The keys of ``tidegate.yaml`` on the account of AWS that roots are in."""

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
    """The account of AWS, by the roles in it that the engine works with. What the default branch says counts.

    What is left open is as it is around the section: at the stack, at the nests around it, for the whole file.
    """

    account: Annotated[
        Annotated[str, AfterValidator(_account)] | None,
        Field(description="The account, of 12 digits. Needed for roles by their names."),
    ] = None
    plan_role: Annotated[
        _Role | None,
        Field(description="The role of plans, by its name or ARN: of deploys, of pull requests and for drift."),
    ] = None
    apply_role: Annotated[_Role | None, Field(description="The role of applies, by its name or ARN.")] = None
    region: Annotated[
        Annotated[str, AfterValidator(_region)] | None,
        Field(description="The region of the engine and its programs: `AWS_REGION` and `AWS_DEFAULT_REGION`."),
    ] = None

    identity: Annotated[
        Literal["role_chaining", "web_identity"] | None,
        Field(
            description="How the roles are assumed: by the runner's role, or with a token of the job "
            "([workload identity](identity.md)). `role_chaining` is usual."
        ),
    ] = None

    def text(self, line: int) -> AwsText:
        """Return what is said, in which line."""
        account, region, identity = self.account or "", self.region or "", self.identity or ""
        return AwsText(account, self.plan_role or "", self.apply_role or "", region, line, identity)


Aws = Annotated[
    AwsSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=AwsSection | None),
    Field(description="The account of AWS and the roles in it, if not Tidegate's own: [see there](accounts.md)."),
]

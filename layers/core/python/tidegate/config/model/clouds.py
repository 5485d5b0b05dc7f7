"""The keys of ``tidegate.yaml`` for the identities of roots on Google Cloud and Azure."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from tidegate.config.declarations import CloudText
from tidegate.config.section import Section
from tidegate.config.values import empty_if_absent, refused
from tidegate.deploys.rules.targets import (
    ACCOUNTS,
    IDS,
    PROVIDERS,
    account_problem,
    id_problem,
    provider_problem,
)


def _provider(text: str) -> str:
    if problem := provider_problem(text):
        raise refused(problem, PROVIDERS)
    return text


def _account(text: str) -> str:
    if problem := account_problem(text):
        raise refused(problem, ACCOUNTS)
    return text


def _id(text: str) -> str:
    if problem := id_problem(text):
        raise refused(problem, IDS)
    return text


_Account = Annotated[str, AfterValidator(_account)]
_Id = Annotated[str, AfterValidator(_id)]


class CloudSection(Section):
    """The identities of a root in a cloud, by key."""

    def text(self, line: int) -> CloudText:
        """Return the declaration with its line."""
        said = self.model_dump(exclude_none=True)
        return CloudText(tuple((str(name), str(value)) for name, value in said.items()), line)


class GoogleSection(CloudSection):
    """The Google Cloud service accounts that jobs impersonate with their OIDC tokens. Only the default branch's file
    counts.

    Missing keys inherit from the surrounding section.
    """

    provider: Annotated[
        Annotated[str, AfterValidator(_provider)] | None,
        Field(description="The workload identity pool provider that trusts this installation."),
    ] = None
    plan_service_account: Annotated[
        _Account | None,
        Field(description="The service account for plans (deployments, pull requests and drift detection)."),
    ] = None
    apply_service_account: Annotated[_Account | None, Field(description="The service account for applies.")] = None


class AzureSection(CloudSection):
    """The Azure applications that jobs authenticate as with their OIDC tokens. Only the default branch's file counts.

    Missing keys inherit from the surrounding section.
    """

    tenant_id: Annotated[_Id | None, Field(description="The tenant ID, as `ARM_TENANT_ID`.")] = None
    subscription_id: Annotated[
        _Id | None, Field(description="The subscription ID, as `ARM_SUBSCRIPTION_ID`, if your providers do not set it.")
    ] = None
    plan_client_id: Annotated[
        _Id | None,
        Field(description="The application (client) for plans: deployments, pull requests and drift detection."),
    ] = None
    apply_client_id: Annotated[_Id | None, Field(description="The application (client) for applies.")] = None


Google = Annotated[
    GoogleSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=GoogleSection | None),
    Field(description="Google Cloud service accounts: see [workload identity](identity.md)."),
]
Azure = Annotated[
    AzureSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=AzureSection | None),
    Field(description="Azure applications: see [workload identity](identity.md)."),
]

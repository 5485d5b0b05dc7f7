"""The keys of ``tidegate.yaml`` on what roots work with on Google Cloud and Azure."""

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
    """What a root works with in a cloud: texts by key."""

    def text(self, line: int) -> CloudText:
        """Return what is said, in which line."""
        said = self.model_dump(exclude_none=True)
        return CloudText(tuple((str(name), str(value)) for name, value in said.items()), line)


class GoogleSection(CloudSection):
    """The service accounts of Google Cloud that jobs become with their tokens. What the default branch says counts.

    What is left open is as it is around the section.
    """

    provider: Annotated[
        Annotated[str, AfterValidator(_provider)] | None,
        Field(description="The provider of a workload identity pool that trusts this installation."),
    ] = None
    plan_service_account: Annotated[
        _Account | None,
        Field(description="The service account of plans: of deploys, of pull requests and for drift."),
    ] = None
    apply_service_account: Annotated[_Account | None, Field(description="The service account of applies.")] = None


class AzureSection(CloudSection):
    """The applications of Azure that jobs become with their tokens. What the default branch says counts.

    What is left open is as it is around the section.
    """

    tenant_id: Annotated[_Id | None, Field(description="The tenant: `ARM_TENANT_ID`.")] = None
    subscription_id: Annotated[
        _Id | None, Field(description="The subscription, if providers do not name it: `ARM_SUBSCRIPTION_ID`.")
    ] = None
    plan_client_id: Annotated[
        _Id | None, Field(description="The application of plans: of deploys, of pull requests and for drift.")
    ] = None
    apply_client_id: Annotated[_Id | None, Field(description="The application of applies.")] = None


Google = Annotated[
    GoogleSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=GoogleSection | None),
    Field(description="Service accounts of Google Cloud: [see there](identity.md)."),
]
Azure = Annotated[
    AzureSection | None,
    BeforeValidator(empty_if_absent, json_schema_input_type=AzureSection | None),
    Field(description="Applications of Azure: [see there](identity.md)."),
]

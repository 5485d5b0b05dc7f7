"""A root's targets on Google Cloud and Azure: identities for which a job's token is exchanged.

No pydantic here: the runner imports this module, and its start is part of every deploy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

from tidegate.deploys.rules.aws_target import Phase
from tidegate.rules.errors import quoted

_PROVIDER = re.compile(
    r"projects/[0-9]{1,20}/locations/global/workloadIdentityPools/[a-z][a-z0-9-]{2,30}[a-z0-9]"
    r"/providers/[a-z][a-z0-9-]{2,30}[a-z0-9]"
)
_ACCOUNT = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]@[a-z][a-z0-9-]{4,28}[a-z0-9]\.iam\.gserviceaccount\.com")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
PROVIDERS = "Use the form projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER"
ACCOUNTS = "Use the e-mail address of a service account, such as tidegate-plan@my-project.iam.gserviceaccount.com"
IDS = "Use an ID in lower case, such as 01234567-89ab-cdef-0123-456789abcdef"


class Cloud(StrEnum):
    """Whom a token is for."""

    AWS = "aws"
    GOOGLE = "google"
    AZURE = "azure"


@dataclass(frozen=True, slots=True)
class GoogleTarget:
    """A provider of a workload identity pool, and the service accounts that jobs become through it."""

    provider: str
    plan_service_account: str
    apply_service_account: str

    def role(self, phase: Phase) -> str:
        """Return the service account of a phase."""
        return self.apply_service_account if phase is Phase.APPLY else self.plan_service_account

    @property
    def audience(self) -> str:
        """What Google expects as ``aud`` where the provider names none of its own."""
        return f"https://iam.googleapis.com/{self.provider}"


@dataclass(frozen=True, slots=True)
class AzureTarget:
    """A tenant, the applications in it that jobs become, and the subscription that they work in, if it is said."""

    tenant_id: str
    plan_client_id: str
    apply_client_id: str
    subscription_id: str = ""

    def role(self, phase: Phase) -> str:
        """Return the client id of a phase."""
        return self.apply_client_id if phase is Phase.APPLY else self.plan_client_id


class IncompleteTarget(Exception):
    """A target is incomplete, or gives plans the identity of applies: why, and what to do."""

    def __init__(self, problem: str, allowed: str) -> None:
        super().__init__(f"{problem}. {allowed}.")
        self.problem, self.allowed = problem, allowed


def provider_problem(text: str) -> str:
    """Return why a text is no provider of a pool, empty if it is one."""
    return "" if _PROVIDER.fullmatch(text) else f"{quoted(text)} is not a workload identity pool provider"


def account_problem(text: str) -> str:
    """Return why a text is no service account, empty if it is one."""
    return "" if _ACCOUNT.fullmatch(text) else f"{quoted(text)} is not a service account"


def id_problem(text: str) -> str:
    """Return why a text is no id of Azure, empty if it is one."""
    return "" if _ID.fullmatch(text) else f"{quoted(text)} is not an Azure ID"


def google_target(said: Mapping[str, str]) -> GoogleTarget | None:
    """Return the target of these texts by field, None if there are none. Raise IncompleteTarget."""
    if not any(said.values()):
        return None
    target = GoogleTarget(**{each.name: said.get(each.name, "") for each in fields(GoogleTarget)})
    _check_complete("google", said, ("provider", "plan_service_account", "apply_service_account"))
    _check_apart("google", "service_account", target)
    return target


def azure_target(said: Mapping[str, str]) -> AzureTarget | None:
    """Return the target of these texts by field, None if there are none. Raise IncompleteTarget."""
    if not any(said.values()):
        return None
    target = AzureTarget(**{each.name: said.get(each.name, "") for each in fields(AzureTarget)})
    _check_complete("azure", said, ("tenant_id", "plan_client_id", "apply_client_id"))
    _check_apart("azure", "client_id", target)
    return target


def _check_complete(section: str, said: Mapping[str, str], needed: tuple[str, ...]) -> None:
    missing = [name for name in needed if not said.get(name)]
    if missing:
        raise IncompleteTarget(f"{section} has no {' and no '.join(missing)}", f"Add {' and '.join(missing)}")


def _check_apart(section: str, kind: str, target: GoogleTarget | AzureTarget) -> None:
    if target.role(Phase.PLAN) == target.role(Phase.APPLY):
        problem = f"plan_{kind} and apply_{kind} of {section} are both {target.role(Phase.PLAN)!r}"
        raise IncompleteTarget(problem, f"Name one that only reads as plan_{kind}: unreviewed code is planned with it")

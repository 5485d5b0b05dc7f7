"""The AWS account in which a root's engine works, and which roles the installation allows.

No pydantic here: the runner imports this module, and its start is part of every deploy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from tidegate.rules.errors import quoted

_ACCOUNT = re.compile(r"[0-9]{12}")
_ARN = re.compile(r"arn:(aws(?:-[a-z]+)*):iam::([0-9]{12}):role/([A-Za-z0-9+=,.@_/-]{1,512})")
_NAME = re.compile(r"[A-Za-z0-9+=,.@_-][A-Za-z0-9+=,.@_/-]{0,511}")
#: Commercial regions, China's, those of the government of the US, and the European sovereign cloud's: by their form, as
#: AWS opens new ones. The isolated partitions are out of reach of an installation elsewhere.
_REGION = re.compile(
    r"(?:(?:af|ap|ca|cn|eu|il|me|mx|sa|us|us-gov)-(?:central|(?:north|south)?(?:east|west)|north|south)|eusc-de-east)-[1-9]"
)
#: Partitions by the prefix of their regions' names; all others are in ``aws``.
_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov", "eusc-": "aws-eusc"}
#: How a role is assumed: by the runner's own role, or with a token of the job.
ROLE_CHAINING, WEB_IDENTITY = "role_chaining", "web_identity"
ACCOUNTS = "An account has 12 digits, such as '111111111111', with quotes if it begins with 0"
ROLES = "Write the name of a role in the account, such as tidegate-plan, or its ARN, arn:aws:iam::ACCOUNT:role/NAME"
REGIONS = "Write a region such as eu-west-1"


class Phase(StrEnum):
    """A phase for which an installation allows roles. Plans of drift detection have that of pull requests."""

    PLAN = "plan"
    APPLY = "apply"
    PULL_REQUEST = "pull_request"


@dataclass(frozen=True, slots=True)
class AwsTarget:
    """Which roles the engine gets its credentials from, by their ARNs, and its region.

    Both roles are of one account. Without roles, the engine has those of the installation; without a region, its own.
    ``web_identity`` tells that the roles are assumed with a token of the job, and not by the runner's own role.
    """

    plan_role: str = ""
    apply_role: str = ""
    region: str = ""
    web_identity: bool = False

    @property
    def account(self) -> str:
        """The account of the roles, empty without them."""
        match = _ARN.fullmatch(self.plan_role)
        return match.group(2) if match else ""

    def role(self, phase: Phase) -> str:
        """Return the role of a phase, empty for none."""
        return self.apply_role if phase is Phase.APPLY else self.plan_role


class Target(Protocol):
    """A root's target in a cloud."""

    def role(self, phase: Phase) -> str:
        """Return its identity in a phase, empty for none."""


@dataclass(frozen=True, slots=True)
class AllowedRole:
    """Roles that repositories may name: patterns of ARNs and of ``OWNER/NAME``, where ``*`` is any text.

    Instead of an ARN, it may be a service account of Google Cloud or a client id of Azure.
    """

    role: str
    repositories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllowedRoles:
    """The roles that an installation allows in each phase: none if a phase is not mentioned."""

    phases: Mapping[Phase, tuple[AllowedRole, ...]] = field(default_factory=dict)

    def problem(self, target: Target, repository: str, phases: Iterable[Phase]) -> str:
        """Return why a root of ``repository`` may not use a target in these phases, as sentences; empty if it may."""
        for phase in phases:
            role = target.role(phase)
            if role and not is_allowed(self.phases.get(phase, ()), repository, role):
                return (
                    f"{role!r} is not allowed for {repository!r}: {phase}_target_roles has no entry that allows "
                    "it. Ask the operators of Tidegate to add one to cdk.json and deploy it, or use another role "
                    "in the default branch's tidegate.yaml."
                )
        return ""


class InvalidTarget(Exception):
    """A target is incomplete or invalid: why, and what is allowed."""

    def __init__(self, problem: str, allowed: str) -> None:
        super().__init__(f"{problem}. {allowed}.")
        self.problem, self.allowed = problem, allowed


def is_allowed(entries: Iterable[AllowedRole], repository: str, role: str) -> bool:
    """Tell whether an entry names this role for this repository."""
    return any(fits(each.role, role) and any(fits(one, repository) for one in each.repositories) for each in entries)


def fits(pattern: str, text: str) -> bool:
    """Tell whether the whole text matches a pattern, in which ``*`` is any text, as in IAM. Takes linear time."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first):
        return False
    at = len(first)
    for part in middle:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - len(last) >= at and text.endswith(last)


def account_problem(text: str) -> str:
    """Return why a text is no account, empty if it is one."""
    return "" if _ACCOUNT.fullmatch(text) else f"{quoted(text)} is not an AWS account ID"


def role_problem(text: str) -> str:
    """Return why a text names no role, empty if it does: by its ARN, or by its name with its path before it."""
    usable = (_ARN if text.startswith("arn:") else _NAME).fullmatch(text)
    return "" if usable else f"{quoted(text)} is not an IAM role name or role ARN"


def region_problem(text: str) -> str:
    """Return why a text is no region, empty if it is one."""
    return "" if _REGION.fullmatch(text) else f"{quoted(text)} is not a known AWS region"


def aws_target(account: str, plan_role: str, apply_role: str, region: str, identity: str = "") -> AwsTarget:
    """Return the target of these valid texts, each empty if unset. Raise InvalidTarget."""
    if not (plan_role or apply_role):
        if identity == WEB_IDENTITY:
            raise InvalidTarget(f"aws sets identity: {identity} but no role", "Add plan_role and apply_role")
        if account:
            raise InvalidTarget(f"aws sets the account {account} but no role", "Add plan_role and apply_role")
        return AwsTarget(region=region)
    if not (plan_role and apply_role):
        said, missing = ("plan_role", "apply_role") if plan_role else ("apply_role", "plan_role")
        raise InvalidTarget(
            f"aws has {said} but no {missing}", f"Add {missing}: it can have fewer permissions than the other"
        )
    roles = _arn(plan_role, account, region), _arn(apply_role, account, region)
    target = AwsTarget(*roles, region, identity == WEB_IDENTITY)
    if target.plan_role == target.apply_role:
        advice = "Name a role that can only read as plan_role: unreviewed code is planned with it"
        raise InvalidTarget(f"plan_role and apply_role are both {target.plan_role!r}", advice)
    for role in (target.plan_role, target.apply_role):
        _check(role, account or target.account, region)
    return target


def _arn(role: str, account: str, region: str) -> str:
    if role.startswith("arn:"):
        return role
    if not account:
        raise InvalidTarget(f"the role {role!r} is only a name, and no account is set", "Add account")
    return f"arn:{_partition(region)}:iam::{account}:role/{role}"


def _check(role: str, account: str, region: str) -> None:
    match = _ARN.fullmatch(role)
    if match is None:
        raise InvalidTarget(role_problem(role), ROLES)
    partition, own, _ = match.groups()
    if own != account:
        advice = f"Use a role in the account {account}, or change account to that of the role"
        raise InvalidTarget(f"the role {role!r} is in the account {own}, not in {account}", advice)
    if region and partition != _partition(region):
        advice = f"Role ARNs in that region begin with arn:{_partition(region)}:"
        raise InvalidTarget(f"the role {role!r} is in another AWS partition than the region {region}", advice)


def _partition(region: str) -> str:
    return next((name for start, name in _PARTITIONS.items() if region.startswith(start)), "aws")


def to_text(allowed: AllowedRoles) -> str:
    """Return the roles as JSON, which ``from_text`` reads."""
    entries = {
        phase.value: [[each.role, *each.repositories] for each in some] for phase, some in allowed.phases.items()
    }
    return json.dumps(entries, separators=(",", ":"))


def from_text(text: str) -> AllowedRoles:
    """Return the roles that ``to_text`` wrote; an empty text allows none. Raise ValueError for any other."""
    try:
        entries = json.loads(text or "{}")
        return AllowedRoles(
            {
                Phase(phase): tuple(
                    AllowedRole(str(role), tuple(map(str, repositories))) for role, *repositories in some
                )
                for phase, some in entries.items()
            }
        )
    except (AttributeError, TypeError) as error:
        raise ValueError(f"invalid list of roles: {text!r}") from error

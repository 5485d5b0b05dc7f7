"""Policies: rules in Rego that a plan is held against, in named sets with owners.

The conventions are conftest's: a package (namespace), rules named ``deny``, ``violation`` and ``warn``, exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """What a rule's result means: a set with a ``deny`` or a ``violation`` fails, a ``warn`` is only shown."""

    DENY = "deny"
    VIOLATION = "violation"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class PolicyFinding:
    """One result of one rule. ``address`` is the resource that it is about, empty where it names none.

    ``exempted_by`` names the exception that lets it pass, empty where none does.
    """

    severity: Severity
    rule: str
    message: str
    address: str = ""
    exempted_by: str = ""


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """What one policy set says of one plan. ``error`` tells why it could not be evaluated: then it fails."""

    policy_set: str
    findings: tuple[PolicyFinding, ...] = ()
    error: str = ""

    @property
    def failed(self) -> bool:
        """Whether the set blocks until an owner approves or the plan changes."""
        return bool(self.error) or any(
            each.severity is not Severity.WARN and not each.exempted_by for each in self.findings
        )

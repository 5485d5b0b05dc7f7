"""Policies: rules in Rego that a plan is held against, in named sets with owners.

The conventions are conftest's: a package (namespace), rules named ``deny``, ``violation`` and ``warn``, exceptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

#: Findings that are kept of all sets of one plan, and letters of each of their texts: they are part of a record.
KEPT_FINDINGS = 200
KEPT_LETTERS = 600
#: Findings that are kept of a deployment's plan: its record holds more besides, and is read more often.
KEPT_OF_DEPLOYMENT = 50
#: What every set may keep, however many sets there are.
_LEAST = 5


class Severity(StrEnum):
    """What a rule's result means: a set with a ``deny`` or a ``violation`` fails, a ``warn`` is only shown."""

    DENY = "deny"
    VIOLATION = "violation"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class PolicyFinding:
    """One result of one rule. ``address`` is the resource that it is about, empty where it names none.

    ``rule`` is its name with its package, such as ``main.deny_public``. ``exempted_by`` names the exception that lets
    it pass, empty where none does. ``file`` and ``line`` are of the repository's code, where the policy names them.
    """

    severity: Severity
    rule: str
    message: str
    address: str = ""
    exempted_by: str = ""
    file: str = ""
    line: int = 0

    @property
    def blocks(self) -> bool:
        """Whether its set fails by it."""
        return self.severity is not Severity.WARN and not self.exempted_by


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """What one policy set says of one plan. ``error`` tells why it could not be evaluated: then it fails.

    ``file`` and ``line`` are where the policy is wrong, where that is known. ``omitted`` counts the findings that are
    not kept, the least important ones.
    """

    policy_set: str
    findings: tuple[PolicyFinding, ...] = ()
    error: str = ""
    file: str = ""
    line: int = 0
    omitted: int = 0

    @property
    def failed(self) -> bool:
        """Whether the set blocks until an owner approves or the plan changes."""
        return bool(self.error) or any(each.blocks for each in self.findings)

    @property
    def warned(self) -> bool:
        """Whether the set has something to say that does not block."""
        return any(each.severity is Severity.WARN and not each.exempted_by for each in self.findings)


@dataclass(frozen=True, slots=True)
class HeldPolicySet:
    """A policy set that a plan is held against, as it was when the pull request was looked at.

    ``key`` and ``sha256`` are those of the object that holds its files. ``owners`` may approve what it refuses,
    ``approvals`` of them are needed. ``problem`` tells why there is nothing to evaluate; then the set fails.
    """

    name: str
    key: str = ""
    sha256: str = ""
    owners: tuple[str, ...] = ()
    approvals: int = 1
    namespaces: tuple[str, ...] = ("main",)
    problem: str = ""


def kept(verdicts: Sequence[PolicyVerdict], findings: int = KEPT_FINDINGS) -> tuple[PolicyVerdict, ...]:
    """Return verdicts that fit into a record: about so many findings, those that weigh most, with texts cut.

    A set that fails still does.
    """
    most = max(_LEAST, findings // max(1, len(verdicts)))
    return tuple(_kept(each, most) for each in verdicts)


def _kept(verdict: PolicyVerdict, most: int) -> PolicyVerdict:
    ordered = sorted(verdict.findings, key=lambda finding: (not finding.blocks, bool(finding.exempted_by)))
    findings = tuple(
        replace(
            each,
            rule=_cut(each.rule, 200),
            message=_cut(each.message),
            address=_cut(each.address, 400),
            exempted_by=_cut(each.exempted_by, 200),
            file=_cut(each.file, 400),
        )
        for each in ordered[:most]
    )
    omitted = verdict.omitted + max(0, len(ordered) - most)
    return replace(verdict, findings=findings, error=_cut(verdict.error), file=_cut(verdict.file, 400), omitted=omitted)


def _cut(text: str, letters: int = KEPT_LETTERS) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"

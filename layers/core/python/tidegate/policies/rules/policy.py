"""Policies: Rego rules for plans, in named sets with owners.

The conventions are conftest's: a package (namespace), rules named ``deny``, ``violation`` and ``warn``, exceptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tidegate.rules.shortened import shortened

#: Findings of all sets of one plan in a record, and characters of each of their texts.
KEPT_FINDINGS = 200
KEPT_CHARACTERS = 600
#: Findings in a deployment's record, which holds more besides and is read more often.
KEPT_OF_DEPLOYMENT = 50
#: Bytes of a finding in total, and without its texts: a character may have four.
_BYTES, _FRAME = 800, 100
#: Findings that every set may keep, however many sets there are.
_LEAST = 5


class Severity(StrEnum):
    """The meaning of a rule's result: a ``deny`` or a ``violation`` fails its set, a ``warn`` is only shown."""

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
        """Whether it fails its set."""
        return self.severity is not Severity.WARN and not self.exempted_by


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """The verdict of one policy set on one plan. ``error`` tells why it could not be evaluated: then it fails.

    ``file`` and ``line`` are the location of a mistake in the policy, if known. ``omitted`` counts the dropped
    findings, the least important ones.
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
        """Whether the set has findings that do not block."""
        return any(each.severity is Severity.WARN and not each.exempted_by for each in self.findings)


@dataclass(frozen=True, slots=True)
class PolicySetStatus:
    """A policy set that evaluates a plan, as of the pull request's discovery.

    ``key`` and ``sha256`` are those of the object that holds its files. ``owners`` may approve what it refuses,
    ``approvals`` of them are needed. ``problem`` tells why it cannot be evaluated; then the set fails.
    """

    name: str
    key: str = ""
    sha256: str = ""
    owners: tuple[str, ...] = ()
    approvals: int = 1
    namespaces: tuple[str, ...] = ("main",)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RuleChanges:
    """A pull request's changes to what runs programs or grants something, as text.

    ``owners`` are the policy sets whose owners must approve that, those that have any.
    """

    changes: tuple[str, ...] = ()
    owners: tuple[PolicySetStatus, ...] = ()


#: No rule changes.
SAME_RULES = RuleChanges()


def kept(verdicts: Sequence[PolicyVerdict], findings: int = KEPT_FINDINGS) -> tuple[PolicyVerdict, ...]:
    """Return verdicts that fit into a record: about this many findings, the most important ones, with texts cut.

    Long texts reduce the number. A failed set stays failed.
    """
    sets = max(1, len(verdicts))
    most, room = max(_LEAST, findings // sets), findings * _BYTES // sets
    return tuple(_kept(each, most, room) for each in verdicts)


def _kept(verdict: PolicyVerdict, most: int, room: int) -> PolicyVerdict:
    ordered = sorted(verdict.findings, key=lambda finding: (not finding.blocks, bool(finding.exempted_by)))
    findings = tuple(_fitting(map(_shortened, ordered[:most]), room))
    omitted = verdict.omitted + len(ordered) - len(findings)
    return replace(
        verdict,
        findings=findings,
        error=shortened(verdict.error, KEPT_CHARACTERS),
        file=shortened(verdict.file, 400),
        omitted=omitted,
    )


def _fitting(findings: Iterable[PolicyFinding], room: int) -> Iterator[PolicyFinding]:
    """Yield the first findings that fit into ``room`` bytes, one in any case."""
    for count, each in enumerate(findings):
        texts = each.rule, each.message, each.address, each.exempted_by, each.file
        room -= _FRAME + sum(len(text.encode(errors="replace")) for text in texts)
        if count and room < 0:
            return
        yield each


def _shortened(finding: PolicyFinding) -> PolicyFinding:
    return replace(
        finding,
        rule=shortened(finding.rule, 200),
        message=shortened(finding.message, KEPT_CHARACTERS),
        address=shortened(finding.address, 400),
        exempted_by=shortened(finding.exempted_by, 200),
        file=shortened(finding.file, 400),
    )

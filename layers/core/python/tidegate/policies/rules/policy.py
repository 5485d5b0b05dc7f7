"""Policies: rules in Rego that a plan is checked against, in named sets with owners.

The conventions are conftest's: a package (namespace), rules named ``deny``, ``violation`` and ``warn``, exceptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

#: Findings that are kept of all sets of one plan, and letters of each of their texts: they are part of a record.
KEPT_FINDINGS = 200
KEPT_CHARACTERS = 600
#: Findings that are kept of a deployment's plan: its record holds more besides, and is read more often.
KEPT_OF_DEPLOYMENT = 50
#: Bytes that a finding has on the whole, and what it takes besides its texts: a letter may have four of them.
_BYTES, _FRAME = 800, 100
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
class PolicySetStatus:
    """A policy set that a plan is checked against, as it was when the pull request was looked at.

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


@dataclass(frozen=True, slots=True)
class RuleChanges:
    """What a pull request changes of what runs programs or grants something, in words.

    ``owners`` are the policy sets whose owners must approve that, those that have any.
    """

    changes: tuple[str, ...] = ()
    owners: tuple[PolicySetStatus, ...] = ()


#: The rules stay as they are.
SAME_RULES = RuleChanges()


def kept(verdicts: Sequence[PolicyVerdict], findings: int = KEPT_FINDINGS) -> tuple[PolicyVerdict, ...]:
    """Return verdicts that fit into a record: about so many findings, those that weigh most, with texts cut.

    Where these are long, there are fewer. A set that fails still does.
    """
    sets = max(1, len(verdicts))
    most, room = max(_LEAST, findings // sets), findings * _BYTES // sets
    return tuple(_kept(each, most, room) for each in verdicts)


def _kept(verdict: PolicyVerdict, most: int, room: int) -> PolicyVerdict:
    ordered = sorted(verdict.findings, key=lambda finding: (not finding.blocks, bool(finding.exempted_by)))
    findings = tuple(_fitting(map(_shortened, ordered[:most]), room))
    omitted = verdict.omitted + len(ordered) - len(findings)
    return replace(verdict, findings=findings, error=_cut(verdict.error), file=_cut(verdict.file, 400), omitted=omitted)


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
        rule=_cut(finding.rule, 200),
        message=_cut(finding.message),
        address=_cut(finding.address, 400),
        exempted_by=_cut(finding.exempted_by, 200),
        file=_cut(finding.file, 400),
    )


def _cut(text: str, letters: int = KEPT_CHARACTERS) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"

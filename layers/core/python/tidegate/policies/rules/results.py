"""Findings from a policy set's rules, by conftest's conventions."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.policies.rules.policy import PolicyFinding, Severity

#: Parts with an index each, joined by dots: what may be an address in a sentence.
_INDEX = r"(?:\[(?:\"[^\"\]]{0,200}\"|\d{1,9})\])?"
_ADDRESS = re.compile(rf"(?<![\w-])[A-Za-z_][\w-]*{_INDEX}(?:\.[A-Za-z_][\w-]*{_INDEX})+")
_LONGEST_MESSAGE = 4000
#: Where objects say more of a finding, besides at their top.
_DETAILS = ("details", "metadata")


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The result of one rule: its package and name, and the elements of its set, plain data."""

    package: str
    name: str
    values: tuple[Any, ...]


def findings(
    results: Iterable[RuleResult], exceptions: Mapping[str, Sequence[Any]], addresses: Collection[str]
) -> tuple[PolicyFinding, ...]:
    """Return the findings, in the order of the results.

    ``exceptions`` are by package the elements of its rule ``exception``: lists of names of rules without what is before
    their first underscore, "" for rules that have nothing after it. ``addresses`` are those that the plan changes.
    """
    found: list[PolicyFinding] = []
    for each in results:
        exempt = each.name if _is_exempt(each.name, exceptions.get(each.package, ())) else ""
        by = f"{each.package}.exception" if exempt else ""
        found.extend(_finding(each, value, by, addresses) for value in each.values)
    return tuple(found)


def plan_addresses(plan: Any) -> frozenset[str]:
    """Return all resource addresses in a plan (the engine's JSON). The plan is untrusted."""
    changes = plan.get("resource_changes") if isinstance(plan, dict) else None
    known = (each.get("address") for each in changes or () if isinstance(each, dict))
    return frozenset(each for each in known if isinstance(each, str))


def named_address(message: str, addresses: Collection[str]) -> str:
    """Return the first address that a message names, also as the beginning of an attribute's path."""
    for found in _ADDRESS.finditer(message[:_LONGEST_MESSAGE]):
        candidate = found.group()
        while "." in candidate:
            if candidate in addresses:
                return candidate
            candidate = _shorter(candidate)
    return ""


def _shorter(candidate: str) -> str:
    return candidate[: candidate.rindex("[")] if candidate.endswith("]") else candidate.rpartition(".")[0]


def _is_exempt(name: str, exceptions: Iterable[Any]) -> bool:
    suffix = name.partition("_")[2]
    return any(suffix in (each if isinstance(each, list) else [each]) for each in exceptions)


def _finding(result: RuleResult, value: Any, exempted_by: str, addresses: Collection[str]) -> PolicyFinding:
    fields = value if isinstance(value, dict) else {"msg": value}
    message = _message(fields)
    line = _said(fields, "line")
    return PolicyFinding(
        severity=Severity(result.name.partition("_")[0]),
        rule=f"{result.package}.{result.name}",
        message=message,
        address=_text(fields, "address") or _text(fields, "resource") or named_address(message, addresses),
        exempted_by=exempted_by,
        file=_text(fields, "file"),
        line=line if isinstance(line, int) and 0 < line < 1 << 31 else 0,
    )


def _message(fields: Mapping[str, Any]) -> str:
    """Return the message. A result without one is shown as it is: it must not pass silently."""
    message = fields.get("msg", fields)
    return message if isinstance(message, str) else json.dumps(message, ensure_ascii=False, sort_keys=True)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = _said(fields, name)
    return value if isinstance(value, str) else ""


def _said(fields: Mapping[str, Any], name: str) -> Any:
    inner = (fields.get(each) for each in _DETAILS)
    for place in (fields, *(each for each in inner if isinstance(each, dict))):
        if name in place and not isinstance(place[name], bool):
            return place[name]
    return None

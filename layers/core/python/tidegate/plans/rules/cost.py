"""What a plan changes of a month's cost, from the JSON output of Infracost (``infracost breakdown --format json``).

A step of the workflow writes it, so it is data from outside: whatever is not as expected makes the cost unknown, with
the reason, and never a wrong amount.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

#: Bytes of Infracost's output that are read: that of some thousand resources.
LARGEST = 16_000_000
#: Resources that are kept, those whose cost changes most, and characters of an address and of a reason: lists of
#: deployments read them as well.
KEPT, _LONGEST_ADDRESS, _LONGEST_REASON = 10, 400, 300
#: The version of the format that Infracost writes since 2021.
_VERSION = "0.2"
_CURRENCY = re.compile(r"[A-Z]{3}")
#: Digits of an amount before its point, and characters of one: no bill has more.
_MOST_DIGITS, _LONGEST_AMOUNT = 12, 200

#: Replaces secrets in a text.
Mask = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ResourceCost:
    """What a resource's cost of a month changes by, in hundredths of the currency's unit."""

    address: str
    difference: int


@dataclass(frozen=True, slots=True)
class PlanCost:
    """What all resources of a root cost in a month after the apply, and by how much the plan changes that.

    ``monthly`` and ``difference`` are in hundredths of the unit of ``currency`` (a code of ISO 4217). ``resources`` are
    those whose cost changes most, ``more`` counts the others that change, ``unsupported`` those without a known price.
    With a ``problem``, the cost is not known, and nothing else is set.
    """

    currency: str = ""
    monthly: int = 0
    difference: int = 0
    resources: tuple[ResourceCost, ...] = ()
    more: int = 0
    unsupported: int = 0
    problem: str = ""


class _Refused(ValueError):
    """What is wrong with the output, for people."""


def unknown_cost(problem: str) -> PlanCost:
    """Return a cost that is not known, with the reason in a few words."""
    return PlanCost(problem=_shortened(problem, _LONGEST_REASON))


def read_cost(content: bytes, mask: Mask) -> PlanCost:
    """Return the cost that Infracost's JSON output states; one with a ``problem`` if it states none."""
    try:
        document = json.loads(content, parse_float=Decimal, parse_constant=_refuse_constant)
        return _cost(_mapping(document, "the output"), mask)
    except _Refused as refused:
        return unknown_cost(mask(str(refused)))
    except (ValueError, ArithmeticError, RecursionError):
        return unknown_cost("the file is not JSON")


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not an amount")


def _cost(document: Mapping[str, Any], mask: Mask) -> PlanCost:
    if document.get("version") != _VERSION:
        raise _Refused(f"the file is not Infracost's JSON output in version {_VERSION} of its format")
    currency = document.get("currency")
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        raise _Refused("currency is not a code of three letters, such as USD")
    changed = sorted(_resources(document, mask), key=lambda each: (-abs(each.difference), each.address))
    return PlanCost(
        currency,
        _amount(document.get("totalMonthlyCost"), "totalMonthlyCost"),
        _amount(document.get("diffTotalMonthlyCost"), "diffTotalMonthlyCost"),
        tuple(changed[:KEPT]),
        max(0, len(changed) - KEPT),
        _unsupported(document),
    )


def _resources(document: Mapping[str, Any], mask: Mask) -> Iterator[ResourceCost]:
    """Yield the resources whose cost changes."""
    for project in _sequence(document.get("projects"), "projects"):
        known = _mapping(project, "a project")
        _refuse_failed(known)
        diff = _mapping(known.get("diff"), "a project's diff")
        for each in _sequence(diff.get("resources"), "resources"):
            resource = _mapping(each, "a resource")
            name = resource.get("name")
            if not isinstance(name, str) or not name:
                raise _Refused("a resource has no name")
            if resource.get("monthlyCost") is None:  # It depends on use, which Infracost does not know.
                continue
            if difference := _amount(resource["monthlyCost"], "a resource's monthlyCost"):
                yield ResourceCost(_shortened(mask(name), _LONGEST_ADDRESS), difference)


def _refuse_failed(project: Mapping[str, Any]) -> None:
    """Raise _Refused for a project that Infracost could not read: it states a cost of 0."""
    metadata = _mapping(project.get("metadata") or {}, "a project's metadata")
    if errors := _sequence(metadata.get("errors") or [], "errors"):
        raise _Refused(f"Infracost failed: {_mapping(errors[0], 'an error').get('message', 'see its output')}")


def _unsupported(document: Mapping[str, Any]) -> int:
    count = _mapping(document.get("summary") or {}, "summary").get("totalUnsupportedResources") or 0
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise _Refused("totalUnsupportedResources is not a count")
    return count


def _amount(value: Any, name: str) -> int:
    """Return an amount in hundredths. Raise _Refused for anything but a decimal number of a possible size."""
    if value is None:
        raise _Refused(f"{name} is missing: let Infracost read the plan's JSON")
    amount = _decimal(value)
    if not amount.is_finite() or (amount and amount.adjusted() >= _MOST_DIGITS):
        raise _Refused(f"{name} is not an amount")
    return int((amount * 100).to_integral_value())


def _decimal(value: Any) -> Decimal:
    """Return a number, NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal) or len(str(value)) > _LONGEST_AMOUNT:
        return Decimal("NaN")
    try:
        return Decimal(value)
    except InvalidOperation:
        return Decimal("NaN")


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Refused(f"{name} is not an object")
    return value


def _sequence(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise _Refused(f"{name} is not a list")
    return value


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def with_cost(plan: bytes, cost: PlanCost | None) -> bytes:
    """Return the input of policies: the engine's JSON plan, with the cost as its field ``cost`` if it is stated."""
    if cost is None:
        return plan
    field = json.dumps(_input(cost), separators=(",", ":")).encode()
    others = plan.rstrip().removesuffix(b"}").rstrip()
    return b'%s%s"cost":%s}' % (others, b"" if others == b"{" else b",", field)


def _input(cost: PlanCost) -> Mapping[str, Any]:
    if cost.problem:
        return {"known": False, "problem": cost.problem}
    return {
        "known": True,
        "currency": cost.currency,
        "monthly": cost.monthly / 100,
        "difference": cost.difference / 100,
        "resources": [{"address": each.address, "difference": each.difference / 100} for each in cost.resources],
        "more": cost.more,
        "unsupported": cost.unsupported,
    }


def decimal_text(hundredths: int) -> str:
    """Return an amount as a decimal number, such as ``-1234.50``."""
    units, rest = divmod(abs(hundredths), 100)
    return f"{'-' if hundredths < 0 else ''}{units}.{rest:02}"


def money(hundredths: int, currency: str) -> str:
    """Return an amount with its currency, such as ``1,234.50 USD``."""
    return f"{Decimal(decimal_text(hundredths)):,} {currency}"


def signed(hundredths: int, currency: str) -> str:
    """Return a difference, such as ``+12.30 USD``."""
    return f"{'+' if hundredths > 0 else ''}{money(hundredths, currency)}"


def difference_text(cost: PlanCost) -> str:
    """Return by how much a plan changes the cost, such as ``+12.30 USD a month``, or that it is not known."""
    if cost.problem:
        return "cost not known"
    return f"{signed(cost.difference, cost.currency)} a month" if cost.difference else "no change of cost"


def total_text(costs: Iterable[PlanCost | None]) -> str:
    """Return by how much several plans together change the cost, with a sum for each currency.

    Empty if none has a cost. It says of how many the cost is not known.
    """
    stated = [each for each in costs if each is not None]
    sums: dict[str, int] = {}
    for each in stated:
        if not each.problem:
            sums[each.currency] = sums.get(each.currency, 0) + each.difference
    changing = [PlanCost(currency, 0, amount) for currency, amount in sorted(sums.items()) if amount]
    parts = [difference_text(each) for each in changing] or (["no change of cost"] if sums else [])
    missing = sum(1 for each in stated if each.problem)
    return ", ".join([*parts, f"cost of {missing} not known"] if missing else parts)

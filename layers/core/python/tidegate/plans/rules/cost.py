"""What a plan changes of a month's cost, and how that reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.rules.shortened import shortened

#: Resources that are kept, those whose cost changes most, and characters of an address and of a reason: lists of
#: deployments read them as well.
KEPT, LONGEST_ADDRESS, _LONGEST_REASON = 10, 400, 300


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


def unknown_cost(problem: str) -> PlanCost:
    """Return a cost that is not known, with the reason in a few words."""
    return PlanCost(problem=shortened(problem, _LONGEST_REASON))


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
    units, rest = divmod(abs(hundredths), 100)
    return f"{'-' if hundredths < 0 else ''}{units:,}.{rest:02} {currency}"


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

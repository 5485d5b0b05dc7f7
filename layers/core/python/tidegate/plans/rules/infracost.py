"""Read what a plan costs from the JSON output of Infracost (``infracost breakdown --format json``).

A step of the workflow writes it, so it is data from outside: whatever is not as expected makes the cost unknown, with
the reason, and never a wrong amount.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from tidegate.plans.rules.cost import KEPT, LONGEST_ADDRESS, PlanCost, ResourceCost, unknown_cost
from tidegate.rules.shortened import shortened

#: Bytes of the output that are read: that of some thousand resources.
LARGEST = 16_000_000
#: The version of the format that Infracost writes since 2021.
_VERSION = "0.2"
_CURRENCY = re.compile(r"[A-Z]{3}")
#: Digits of an amount before its point, and characters of one: no bill has more.
_MOST_DIGITS, _LONGEST_AMOUNT = 12, 200

#: Replaces secrets in a text.
Mask = Callable[[str], str]


class _Refused(ValueError):
    """What is wrong with the output, for people."""


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
                yield ResourceCost(shortened(mask(name), LONGEST_ADDRESS), difference)


def _refuse_failed(project: Mapping[str, Any]) -> None:
    """Raise _Refused for a project that Infracost could not read: it states a cost of 0."""
    metadata = _mapping(project.get("metadata") or {}, "a project's metadata")
    if errors := _sequence(metadata.get("errors") or [], "errors"):
        raise _Refused(f"Infracost failed: {_mapping(errors[0], 'an error').get('message', 'see its output')}")


def _unsupported(document: Mapping[str, Any]) -> int:
    count = _mapping(document.get("summary") or {}, "summary").get("totalUnsupportedResources") or 0
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= LARGEST:
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

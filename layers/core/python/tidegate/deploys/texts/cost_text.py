"""A plan's cost in check runs and comments."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.deploys.texts.presentation import many
from tidegate.plans.rules.cost import KEPT, PlanCost, difference_text, money, signed
from tidegate.texts.markdown import code, escaped, folded

_LONGEST_ADDRESS = 200


def cost_paragraph(cost: PlanCost | None, most: int = KEPT) -> str:
    """Return what a plan costs in Markdown, with ``most`` resources behind a fold; empty if no cost is stated."""
    if cost is None:
        return ""
    if cost.problem:
        return f"**Cost not known**: {escaped(cost.problem)}."
    total = f"**Cost**: {difference_text(cost)}, {money(cost.monthly, cost.currency)} in all, as Infracost estimates."
    missing = f" {many(cost.unsupported, 'resource')} without a known price." if cost.unsupported else ""
    table = folded("Cost by resource", "\n".join(_rows(cost, most))) if cost.resources else ""
    return "\n\n".join(filter(None, (total + missing, table)))


def _rows(cost: PlanCost, most: int) -> Iterator[str]:
    yield "| Resource | A month |\n|---|--:|"
    for each in cost.resources[:most]:
        address = code(each.address, _LONGEST_ADDRESS).replace("|", "\\|")
        yield f"| {address} | {signed(each.difference, cost.currency)} |"
    if more := cost.more + len(cost.resources[most:]):
        yield f"| and {more:,} more | |"

"""Each root in a comment: its plan or failure in full, or one row of a table if there are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidegate.deploys.rules.left_behind import stays
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.texts.cost_text import cost_paragraph
from tidegate.deploys.texts.plan_text import cut_middle, fenced_plan
from tidegate.deploys.texts.presentation import many
from tidegate.plans.rules.counts import counts_and_cost
from tidegate.pull_requests.rules.tally import tally
from tidegate.texts.markdown import bounded, code, escaped, fenced, folded, size, tagged_code

#: Bytes for a plan or an engine's last lines at least; with less for each, there is a table.
LEAST = 500
#: Bytes of an engine's last words that are shown at most.
LAST_LINES = 6_000
#: Rows of a table, and roots with details: the page has all.
ROWS = 100
#: Failures whose last lines are shown without a fold.
OPENED = 3
#: Lines and bytes of the only plan that are shown without a fold.
UNFOLDED, UNFOLDED_BYTES = 60, 8_000
#: Reasons of one failure that are listed.
REASONS = 10
_SEVERAL = 2
#: Resources whose cost is listed: each root has its list, and all share the comment.
_COSTS = 5
_REASON = 300
_NAME = 100
_LINK = 400
_GLUE = 2

_WORDS = {
    LayerState.WAITING: "waits",
    LayerState.PLANNING: "is being planned",
    LayerState.CANCELLED: "not planned",
    LayerState.FAILED: "failed",
    LayerState.REFUSED: "refused",
    LayerState.NO_CHANGES: "unchanged",
}


@dataclass(frozen=True, slots=True)
class LayerView:
    """A layer in a comment.

    ``plan_text`` begins the engine's text of the plan, which has ``plan_size`` bytes in all. ``log_url`` is the log
    of its job.
    """

    layer: SpeculativePlan
    plan_text: str = ""
    plan_size: int = 0
    log_url: str | None = None


def blocks(views: Sequence[LayerView], room: int, everything: str) -> tuple[str, str]:
    """Return the blocks of layers without a plan, then of those with one, together in ``room`` bytes.

    If they do not all fit, there is a table, and as many failures as fit. ``everything`` is a link to the page, or
    empty.
    """
    is_bad = [each.layer.state is not LayerState.PLANNED for each in views]
    if len(views) <= ROWS and sum(_least(each) + _GLUE for each in views) <= room:
        shown = list(zip(is_bad, _shared(views, room), strict=True))
        return _together(text for bad, text in shown if bad), _together(text for bad, text in shown if not bad)
    rows = table(views, room // 2, everything)
    bad_ones = [each for each, bad in zip(views, is_bad, strict=True) if bad]
    return _together(_failures(bad_ones, room - size(rows) - _GLUE)), rows


def _together(parts: Iterable[str]) -> str:
    return "\n\n".join(parts)


def result(layer: SpeculativePlan) -> str:
    """Return how a layer ended, in a few words."""
    if layer.state is LayerState.PLANNED:
        return counts_and_cost(layer.plan.changes, layer.plan.cost) if layer.plan else "planned"
    if layer.is_gone:
        return f"gone: {stays(layer.left)}"
    return _WORDS[layer.state]


def link(name: str, url: str | None) -> str:
    """Return a link, or nothing if the URL is empty or too long."""
    return f"[{name}]({url})" if url and size(url) <= _LINK else ""


def _shared(views: Sequence[LayerView], room: int) -> Iterator[str]:
    """Yield a block for each: short ones whole; long ones share the rest."""
    left = room - sum(_least(each) + _GLUE for each in views)
    extra = {each.layer.id: _wants(each) - min(_wants(each), LEAST) for each in views}
    for count, name in enumerate(sorted(extra, key=lambda name: (extra[name], name))):
        extra[name] = min(extra[name], left // (len(extra) - count))
        left -= extra[name]
    for each in views:
        yield _block(each, min(_wants(each), LEAST) + extra[each.layer.id], opened=_is_open(each, views))


def _is_open(view: LayerView, views: Sequence[LayerView]) -> bool:
    """Tell whether to show it unfolded: one of few failures, or the only plan."""
    if view.layer.state is LayerState.PLANNED:
        return len(views) == 1
    return sum(1 for each in views if each.layer.state is not LayerState.PLANNED) <= OPENED


def _least(view: LayerView) -> int:
    """Return the bytes of a block with the least of its body."""
    return size(_frame(view, "…" if _wants(view) else "", opened=True)) + min(_wants(view), LEAST)


def _wants(view: LayerView) -> int:
    """Return the bytes of the whole body, with an estimate for escaping."""
    if view.layer.state is LayerState.PLANNED:
        return max(view.plan_size, size(view.plan_text)) * 5 // 4 + LEAST if view.plan_text else 0
    return min(size(view.layer.last_lines) * 5 // 4, LAST_LINES) + LEAST if view.layer.last_lines else 0


def _block(view: LayerView, room: int, *, opened: bool) -> str:
    """Return a block whose body takes at most ``room`` bytes. A long plan is folded."""
    if view.layer.state is LayerState.PLANNED and view.plan_text:
        body = fenced_plan(view.plan_text, view.plan_size, room)
        is_short = body.count("\n") <= UNFOLDED and size(body) <= UNFOLDED_BYTES
        return _frame(view, body, opened=opened and is_short)
    return _frame(view, _last_lines(view.layer, room) if view.layer.last_lines else "", opened=opened)


def _frame(view: LayerView, body: str, *, opened: bool = False) -> str:
    """Return the block with its body and the root's other data."""
    layer = view.layer
    if layer.state is not LayerState.PLANNED:
        how = {LayerState.FAILED: "failed", LayerState.REFUSED: "was refused and not run"}.get(
            layer.state, "was not planned"
        )
        head = f"**{code(layer.root.name, _NAME)} {how}**{because(layer.reason)} {link('Log', view.log_url)}".rstrip()
        return _together(
            filter(None, (head, folded("Last lines of the engine's output", body, opened=opened) if body else ""))
        )
    facts = " · ".join(filter(None, (_place(layer), escaped(layer.why, _REASON), link("Log", view.log_url))))
    missing = "" if view.plan_text else "This plan's text has expired. Plan again to see it."
    cost = cost_paragraph(layer.plan.cost, _COSTS) if layer.plan else ""
    inside = _together(filter(None, (facts, cost, missing, body)))
    return folded(f"{tagged_code(layer.root.name, _NAME)}: {result(layer)}", inside, opened=opened)


def because(reason: str) -> str:
    """Return the end of a sentence that says why (a line for each reason), in Markdown: of several as a list.

    A first line that ends with a colon introduces the others.
    """
    lines = [line for line in reason.splitlines() if line.strip()]
    lead = lines.pop(0) if len(lines) >= _SEVERAL and lines[0].rstrip().endswith(":") else ""
    if not lead and len(lines) < _SEVERAL:
        return f": {escaped(lines[0], _REASON)}" if lines else "."
    more = [f"and {len(lines) - REASONS} more: see the log"] if len(lines) > REASONS else []
    begins = f": {escaped(lead, _REASON)}" if lead else ":"
    shown = [*(escaped(line, _REASON) for line in lines[:REASONS]), *more]
    return begins + "\n\n" + "\n".join(f"* {each}" for each in shown) + "\n\n"


def _place(layer: SpeculativePlan) -> str:
    return f"Layer {layer.tier} of {layer.tiers}" if layer.tiers > 1 else ""


def _last_lines(layer: SpeculativePlan, room: int) -> str:
    """Return the end of the engine's output in a fence of at most ``room`` bytes."""
    allowed = min(room, LAST_LINES)
    while True:
        block = fenced(cut_middle(layer.last_lines.rstrip(), allowed))
        if size(block) <= room:
            return block
        allowed -= size(block) - room


def table(views: Sequence[LayerView], room: int, everything: str) -> str:
    """Return a table of the first roots and their results in ``room`` bytes, and the number of further ones.

    With several stacks, each row names its stack.
    """

    def more(count: int) -> str:
        where = f" See all on {everything}." if everything else " Each has a check of its own."
        return f"\n… and {count} more.{where}"

    by_stack = len({each.layer.stack for each in views}) > 1
    header = "| Root | Stack | Plan | |\n|---|---|---|---|\n" if by_stack else "| Root | Plan | |\n|---|---|---|\n"
    rows = [_row(_cells(each, by_stack=by_stack)) for each in views[:ROWS]]
    return header + bounded(rows, room - size(header), more, len(views) - len(rows))


def _cells(view: LayerView, *, by_stack: bool) -> tuple[str, ...]:
    layer = view.layer
    stack = (code(layer.stack, _NAME),) if by_stack else ()
    return code(layer.root.name, _NAME), *stack, result(layer), link("Log", view.log_url)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"


def _failures(views: Sequence[LayerView], room: int) -> Iterator[str]:
    """Yield as many failures as fit, and the number of the others."""
    room -= LEAST
    for count, each in enumerate(views):
        block = _block(each, min(_wants(each), 2 * LEAST), opened=_is_open(each, views))
        room -= size(block) + _GLUE
        if room < 0:
            yield f"{len(views) - count} more have no plan: see their logs."
            return
        yield block


def names(views: Sequence[LayerView], room: int) -> str:
    """Return the roots' names on one line of at most ``room`` bytes."""
    shown = [code(each.layer.root.name, _NAME) for each in views]
    while size(", ".join(shown)) > room:  # Rare, and then a few hundred names at most.
        shown = [*shown[: len(shown) // 2], f"{len(views) - len(shown) // 2} more"]
    return ", ".join(shown)


def alarms(layers: Sequence[SpeculativePlan], room: int) -> Iterator[str]:
    """Yield destroyed and replaced resources by address, in a prominent place."""
    found = tally(layers).changes
    lines = [line for each in layers for line in _destroyed(each)]
    if lines:
        what = [
            f"destroys {many(found.destroy, 'resource')}" if found.destroy else "",
            f"replaces {many(found.replace, 'resource')}" if found.replace else "",
        ]
        head = f"> [!CAUTION]\n> **This {' and '.join(filter(None, what))}.**\n>\n"
        yield head + bounded(lines, room, lambda count: f"> * … and {count} more lines: see the plans")


def _destroyed(layer: SpeculativePlan) -> Iterator[str]:
    if layer.plan is None or layer.state is not LayerState.PLANNED:
        return
    changes, root = layer.plan.changes, code(layer.root.name, _NAME)
    kinds = ("destroys", changes.destroy, changes.destroyed), ("replaces", changes.replace, changes.replaced)
    for verb, count, addresses in kinds:
        for address in addresses:
            yield f"> * {verb} {code(address)} in {root}"
        if count > len(addresses):
            yield f"> * {verb} {count - len(addresses)} more in {root}: see its plan"

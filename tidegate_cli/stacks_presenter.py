"""The graph of ``tidegate stacks``: each stack once, below its last direct dependency."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text
from rich.tree import Tree

from tidegate.changes.rules.stack import Stack
from tidegate.deploys.texts.advice import REPLACED
from tidegate.rules.graphs import right_before, tiers
from tidegate_cli import presenter, screen

if TYPE_CHECKING:
    from tidegate.config.loaded import LoadedConfiguration
    from tidegate.web.change_models import ChangeModel, MemberModel, StackModel, WaveModel

#: Members of a stack that are named below it.
_MEMBERS = 12
_LEFT = "roots in no other stack"
_NO_STACKS = "No stacks are configured: all roots are in the stack default."


@dataclass(frozen=True, slots=True)
class _Node:
    """A stack in a graph: those right before it, with its plan or with its apply."""

    name: str
    tier: int
    plan_after: Sequence[str]
    apply_after: Sequence[str]


def change(shown: ChangeModel) -> RenderableType:
    """Return a change as a graph of its stacks, with the state of each and of their roots."""
    by_name = {stack.name: stack for stack in shown.stacks}
    members = [member for stack in shown.stacks for member in stack.members]
    done = sum(stack.done for stack in shown.stacks)
    title = Text.assemble(
        screen.text(f"{shown.repository} · {shown.revision[:7]}", "bold"), f"  {done} of {len(members)} done"
    )
    nodes = [_Node(stack.name, stack.tier, stack.plan_after, stack.apply_after) for stack in shown.stacks]
    graph = _drawn(nodes, lambda node: _stack(by_name[node.name]))
    left_out = [screen.text(f"… and {shown.left_out} more members")] if shown.left_out else []
    page = [presenter.unfolded(f"  {shown.url}", "dim")] if shown.url else []
    return Group(title, *graph, *left_out, *page)


def _stack(stack: StackModel) -> RenderableType:
    count = len(stack.members)
    running, failed = (stack.running, "running"), (stack.failed, "failed")
    more_of = (running, (stack.waiting, "waiting"), failed, (stack.given_up, "not applied"))
    progress = "".join(f", {number} {word}" for number, word in more_of if number)
    state = screen.state(stack.state)
    line = Text.assemble(screen.text(stack.name, "bold"), "  ", state, f"  {stack.done} of {count} done{progress}")
    rows: list[RenderableType] = (
        [] if stack.wave is None else [screen.text(f"  {each}", "dim") for each in _wave(stack.wave)]
    )
    rows += [row for one in stack.members[:_MEMBERS] for row in _member(one)]
    more = [Text(f"  … and {count - _MEMBERS} more", "dim")] if count > _MEMBERS else []
    return Group(line, *rows, *more)


def _wave(wave: WaveModel) -> Iterator[str]:
    """Yield how a stack is rolled out, and what people decided about it."""
    rules = rollout(wave.max_concurrent, wave.stop_on_failures)
    if rules:
        yield rules
    if wave.held:
        yield "it does not continue after failures: retry them, or let an operator --continue it, or --stop it"
    if wave.continued:
        yield f"{wave.continued.by} let it continue: {wave.continued.reason}"
    if wave.stopped:
        yield f"{wave.stopped.by} stopped it"


def rollout(max_concurrent: int | None, stop_on_failures: int | None, soak: int = 0) -> str:
    """Return the rules of a rollout, empty without any."""
    return ", ".join(
        each
        for each, is_set in (
            (f"at most {max_concurrent} at the same time", max_concurrent),
            (f"stops on {stop_on_failures} failed", stop_on_failures),
            (f"soaks {timedelta(seconds=soak)}", soak),
        )
        if is_set
    )


def _member(one: MemberModel) -> Iterator[RenderableType]:
    yield Text.assemble("  ", presenter.state_of(one, one.replaced_by), "  ", screen.text(one.root))
    if one.replaced_by:
        replaced = REPLACED.format(one.replaced_by.revision[:7])
        yield Padding(screen.text(replaced, "dim"), (0, 0, 0, 6), expand=False)
    if one.gated_by:
        # A line of its own, so that what does not fit stands below itself.
        more = f"; {one.gated_by_left_out} more" if one.gated_by_left_out else ""
        told = f"waits for {presenter.awaited(one.gated_by, one.stack)}{more}"
        yield Padding(screen.text(told, "dim"), (0, 0, 0, 6), expand=False)


def configured(loaded: LoadedConfiguration, leaves: Mapping[str, Stack]) -> RenderableType:
    """Return the stacks that a file configures as a graph."""
    if not loaded.stacks:
        return screen.text(_NO_STACKS)
    queries = _queries(loaded)
    return Group(*_drawn(_nodes(leaves), lambda node: _leaf(leaves[node.name], queries.get(node.name, _LEFT))))


def configured_document(file: Path, loaded: LoadedConfiguration, leaves: Mapping[str, Stack]) -> dict[str, Any]:
    """Return the stacks that a file configures as JSON has them."""
    queries = _queries(loaded)
    return {
        "file": str(file),
        "stacks": [
            {
                "name": node.name,
                "tier": node.tier,
                "within": list(leaves[node.name].within),
                "tag_query": queries.get(node.name),
                "plan_after": list(node.plan_after),
                "apply_after": list(node.apply_after),
                "modified_by": sorted(leaves[node.name].modified_by),
                "variables": dict(leaves[node.name].variables),
                "run_strategy": leaves[node.name].run_strategy.value,
                "max_concurrent": leaves[node.name].wave.max_concurrent,
                "stop_on_failures": leaves[node.name].wave.stop_on_failures,
                "soak_seconds": leaves[node.name].soak,
            }
            for node in _nodes(leaves)
        ],
    }


def _queries(loaded: LoadedConfiguration) -> dict[str, str]:
    return {each.definition.name: each.query.text for each in loaded.stacks if each.query is not None}


def _nodes(leaves: Mapping[str, Stack]) -> list[_Node]:
    before = {name: (stack.plan_after | stack.apply_after) & leaves.keys() for name, stack in leaves.items()}
    tier, nearest = tiers(before), right_before(before)
    return [
        _Node(
            name,
            tier[name],
            [first for first in nearest[name] if first in leaves[name].plan_after],
            [first for first in nearest[name] if first not in leaves[name].plan_after],
        )
        for name in sorted(leaves, key=lambda name: (tier[name], name))
    ]


def _leaf(stack: Stack, query: str) -> RenderableType:
    within = f"  in {', in '.join(stack.within)}" if stack.within else ""
    pulled = f"  changes with {', '.join(sorted(stack.modified_by))}" if stack.modified_by else ""
    rules = rollout(stack.wave.max_concurrent, stack.wave.stop_on_failures, stack.soak)
    return Text.assemble(
        screen.text(stack.name, "bold"),
        screen.text(within),
        screen.text(f"  {query}", "dim"),
        screen.text(pulled),
        screen.text(f"  {rules}" if rules else "", "dim"),
    )


def _drawn(nodes: Sequence[_Node], shown: Callable[[_Node], RenderableType]) -> list[RenderableType]:
    """Return trees: each stack stands once, below the last one right before it, and names the others."""
    tier = {node.name: node.tier for node in nodes}
    trees: dict[str, Tree] = {}
    tops: list[RenderableType] = []
    for node in nodes:
        firsts = sorted((*node.plan_after, *node.apply_after), key=lambda name: (tier[name], name))
        body = shown(node)
        if not firsts:
            trees[node.name] = Tree(body, guide_style="dim")
            tops.append(trees[node.name])
            continue
        trees[node.name] = trees[firsts[-1]].add(Group(_rule(node, firsts), body))
    return tops


def _rule(node: _Node, firsts: Sequence[str]) -> Text:
    """Return how a stack waits: for the one that it stands below, and for others."""
    plans, applies = set(node.plan_after), set(node.apply_after)
    words = []
    if plans:
        words.append(f"planned after {', '.join(name for name in firsts if name in plans)}")
    if applies:
        words.append(f"applied after {', '.join(name for name in firsts if name in applies)}")
    return screen.text("; ".join(words), "dim")

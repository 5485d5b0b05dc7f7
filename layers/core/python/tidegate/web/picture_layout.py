"""The layout of a change's diagram: columns by tier, and arrows around the boxes between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tidegate.deploys.rules.overview import StackOverview

#: Sizes, in pixels. ``LANE`` is the height that an arrow takes where it passes a column.
WIDTH, HEIGHT, LANE = 212, 78, 16
BETWEEN_COLUMNS, BETWEEN_ROWS, MARGIN = 64, 20, 14
#: Passes over the columns that bring side by side what is linked.
_SWEEPS = 4

Point = tuple[float, float]
#: A stack by its name, or an arrow where it passes a column: from, to, tier.
_Node = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from a stack to one that waits for it. ``points`` are where it leaves and enters columns, in turns."""

    first: str
    then: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the boxes begin (left, top), by stack, the arrows, and the size of the whole."""

    boxes: Mapping[str, Point]
    arrows: tuple[Arrow, ...]
    width: float
    height: float


def layout(stacks: Sequence[StackOverview]) -> Layout:
    """Return where everything stands. The same stacks always give the same picture."""
    tiers = {one.name: one.tier for one in stacks}
    links = [(first, one.name) for one in stacks for first in (*one.plan_after, *one.apply_after)]
    ways = {link: _way(*link, tiers) for link in links}
    columns = _columns(tiers, list(ways.values()))
    tops, height = _tops(columns)
    boxes = {name: (_left(tier), tops[name,]) for name, tier in tiers.items()}
    arrows = tuple(Arrow(*link, _points(way, tops, tiers[link[0]])) for link, way in ways.items())
    return Layout(boxes, arrows, _left(len(columns)) + WIDTH + MARGIN, height)


def _left(tier: int) -> float:
    return MARGIN + (tier - 1) * (WIDTH + BETWEEN_COLUMNS)


def _way(first: str, then: str, tiers: Mapping[str, int]) -> list[_Node]:
    """Return what an arrow touches in each column that it comes to."""
    between = [(first, then, str(tier)) for tier in range(tiers[first] + 1, tiers[then])]
    return [(first,), *between, (then,)]


def _columns(tiers: Mapping[str, int], ways: Sequence[Sequence[_Node]]) -> list[list[_Node]]:
    """Return the columns, each from top to bottom."""
    columns: list[list[_Node]] = [[] for _ in range(max(tiers.values(), default=1))]
    for name, tier in tiers.items():
        columns[tier - 1].append((name,))
    neighbours: dict[_Node, list[_Node]] = {}
    for way in ways:
        for number, node in enumerate(way[1:-1], tiers[way[0][0]]):
            columns[number].append(node)
        for one, other in pairwise(way):
            neighbours.setdefault(one, []).append(other)
            neighbours.setdefault(other, []).append(one)
    for _ in range(_SWEEPS):
        _sweep(columns, neighbours)
    return columns


def _sweep(columns: list[list[_Node]], neighbours: Mapping[_Node, Sequence[_Node]]) -> None:
    """Put what is linked at about the same height: each to the middle of its neighbours."""
    for column in columns:
        places = {node: number / len(each) for each in columns for number, node in enumerate(each)}

        def middle(node: _Node, places: Mapping[_Node, float] = places) -> float:
            near = neighbours.get(node, [node])
            return sum(places[one] for one in near) / len(near)

        column.sort(key=lambda node: (middle(node), node))


def _tops(columns: Sequence[Sequence[_Node]]) -> tuple[dict[_Node, float], float]:
    """Return the top of everything, and the height of the whole: columns stand around one line."""
    heights = [sum(map(_height, column)) + BETWEEN_ROWS * (len(column) - 1) for column in columns]
    highest = max(heights)
    tops: dict[_Node, float] = {}
    for column, height in zip(columns, heights, strict=True):
        top = MARGIN + (highest - height) / 2
        for node in column:
            tops[node] = top
            top += _height(node) + BETWEEN_ROWS
    return tops, highest + 2 * MARGIN


def _height(node: _Node) -> float:
    return HEIGHT if len(node) == 1 else LANE


def _points(way: Sequence[_Node], tops: Mapping[_Node, float], tier: int) -> tuple[Point, ...]:
    """Return where an arrow leaves its stack, enters and leaves each column between, and enters the other stack."""
    points: list[Point] = []
    for number, node in enumerate(way, tier):
        middle = tops[node] + _height(node) / 2
        points += [(_left(number), middle), (_left(number) + WIDTH, middle)]
    return tuple(points[1:-1])

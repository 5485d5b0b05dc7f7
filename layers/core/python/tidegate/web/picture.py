"""The diagram of a change: its stacks from left to right, with arrows for dependencies. SVG without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup, escape

from tidegate.deploys.rules.overview import StackOverview
from tidegate.deploys.rules.state import State
from tidegate.rules.shortened import shortened
from tidegate.texts.markdown import plain
from tidegate.web.picture_layout import HEIGHT, WIDTH, Arrow, Point, layout

#: Stacks of a diagram at most: more are confusing.
MOST_DRAWN = 60
#: Characters of a name that fit into a box.
_FITTING = 18


def picture(stacks: Sequence[StackOverview], states: Mapping[State, tuple[str, str]]) -> Markup | None:
    """Return the picture of a change; None when it would have too many stacks, or one alone.

    ``states`` are a word and a tone for each state. Boxes lead to ``#stack-NUMBER``, counted from 1.
    """
    if not 1 < len(stacks) <= MOST_DRAWN:
        return None
    where = layout(stacks)
    plans = {(first, one.name) for one in stacks for first in one.plan_after}
    arrows = [_arrow(arrow, "plan" if (arrow.first, arrow.then) in plans else "apply") for arrow in where.arrows]
    boxes = [_box(number, one, where.boxes[one.name], states[one.state]) for number, one in enumerate(stacks, 1)]
    # The function's own markup; every text in it is escaped by ``format``.
    return Markup(
        '<svg class="graph" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'viewBox="0 0 {width} {height}" role="group" aria-labelledby="graph-title graph-text">'
        '<title id="graph-title">Stacks of this change</title><desc id="graph-text">{text}</desc>'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path class="tip" d="M0 0.5 L8 4 L0 7.5 Z"/></marker></defs>{arrows}{boxes}</svg>'
    ).format(
        width=round(where.width),
        height=round(where.height),
        text=plain(" ".join(sentences(stacks, states))),
        arrows=Markup().join(arrows),
        boxes=Markup().join(boxes),
    )


def sentences(stacks: Iterable[StackOverview], states: Mapping[State, tuple[str, str]]) -> Iterable[str]:
    """Yield what the picture shows, a sentence for each stack."""
    for one in stacks:
        firsts = [f"plan after {', '.join(one.plan_after)}"] if one.plan_after else []
        firsts += [f"apply after {', '.join(one.apply_after)}"] if one.apply_after else []
        after = "".join(f", {first}" for first in firsts)
        yield f"{named(one)}: {states[one.state][0].lower()}, {progress(one)}{after}."


def named(stack: StackOverview) -> str:
    """Return a stack's name, with its stack groups."""
    return f"{stack.name} ({', '.join(stack.within)})" if stack.within else stack.name


def progress(stack: StackOverview) -> str:
    """Return how many of a stack's roots are done."""
    return f"{stack.done} of {len(stack.members)} done"


def _box(number: int, stack: StackOverview, corner: Point, state: tuple[str, str]) -> Markup:
    word, tone = state
    left, top = corner
    name = plain(stack.name)
    return Markup(
        '<a class="box {tone}" href="#stack-{number}"><title>{name}</title>'
        '<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="9"/>'
        '<text class="name" x="{inside}" y="{first}">{short}</text>'
        '<circle cx="{dot}" cy="{middle}" r="4"/><text class="word" x="{beside}" y="{second}">{word}</text>'
        '<text class="count" x="{inside}" y="{third}">{count}</text></a>'
    ).format(
        tone=tone,
        number=number,
        name=f"{plain(named(stack))}: {word}, {progress(stack)}",
        left=_number(left),
        top=_number(top),
        width=WIDTH,
        height=HEIGHT,
        inside=_number(left + 14),
        first=_number(top + 25),
        short=shortened(name, _FITTING),
        dot=_number(left + 18),
        middle=_number(top + 42),
        beside=_number(left + 28),
        second=_number(top + 46.5),
        word=word,
        third=_number(top + 66),
        count=progress(stack),
    )


def _arrow(arrow: Arrow, kind: str) -> Markup:
    title = f"{arrow.then} is {'planned' if kind == 'plan' else 'applied'} after {arrow.first}"
    return Markup('<path class="arrow {kind}" d="{way}" marker-end="url(#arrow)"><title>{title}</title></path>').format(
        kind=kind, way=_curve(arrow.points), title=escape(plain(title))
    )


def _curve(points: Sequence[Point]) -> str:
    """Return a way through points: curves between columns, straight lines through them."""
    x, y = points[0]
    parts = [f"M{_number(x)} {_number(y)}"]
    for number, (right, below) in enumerate(points[1:]):
        if number % 2:
            parts.append(f"H{_number(right)}")
        else:
            half = _number((x + right) / 2)
            parts.append(f"C{half} {_number(y)} {half} {_number(below)} {_number(right)} {_number(below)}")
        x, y = right, below
    return "".join(parts)


def _number(value: float) -> str:
    return f"{value:g}"

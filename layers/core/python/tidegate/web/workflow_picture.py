"""The picture of a cluster's workflow: its tasks from top to bottom, hooks as marks between. SVG without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from tidegate.clusters.rules.overview import Part, PartState, WorkflowOverview
from tidegate.rules.shortened import shortened
from tidegate.texts.markdown import plain

#: How the state of a task or hook reads, and its colour.
PARTS: dict[PartState, tuple[str, str]] = {
    PartState.WAITING: ("Waiting", "quiet"),
    PartState.RUNNING: ("Running", "busy"),
    PartState.DONE: ("Done", "good"),
    PartState.DONE_BEFORE: ("Done before", "good"),
    PartState.NOT_NEEDED: ("Not needed", "quiet"),
    PartState.WARNED: ("Failed, with a warning", "attention"),
    PartState.FAILED: ("Failed", "bad"),
    PartState.NOT_REACHED: ("Not reached", "quiet"),
}
#: States whose boxes have a dashed line: nothing is done there.
_IDLE = frozenset({PartState.WAITING, PartState.NOT_NEEDED, PartState.NOT_REACHED})
#: Sizes, in pixels.
_WIDTH, _MARGIN, _BOX, _BAND, _SPACE = 340, 14, 50, 24, 9
_LINE = _MARGIN + 22
#: Where the marks of a band begin, how far apart they are, and how many fit.
_MARKS, _STEP, _MOST = _MARGIN + 132, 15, 11
#: Characters of a title that fit into a box.
_FITTING = 38


@dataclass(frozen=True, slots=True)
class _Band:
    """Hooks that run at one place, with a word for it."""

    word: str
    parts: Sequence[Part]


def workflow_picture(flow: WorkflowOverview) -> Markup | None:
    """Return the picture of a workflow; None if its plan is not there any more. All of it leads to ``#TASK``."""
    if not flow.tasks:
        return None
    boxes, bands, y = list[tuple[Part, int]](), list[tuple[_Band, int]](), _MARGIN
    for shape in _shapes(flow):
        if isinstance(shape, _Band):
            bands.append((shape, y))
            y += _BAND
        else:
            boxes.append((shape, y + _SPACE))
            y += _BOX + 2 * _SPACE
    # The function's own markup; every text in it is escaped by ``format``.
    return Markup(
        '<svg class="graph flow" xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'viewBox="0 0 {width} {height}" role="group" aria-labelledby="graph-title graph-text">'
        '<title id="graph-title">Tasks of this workflow</title><desc id="graph-text">{text}</desc>'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path class="tip" d="M0 0.5 L8 4 L0 7.5 Z"/></marker></defs>{arrows}{boxes}{bands}'
        "</svg>"
    ).format(
        width=_WIDTH,
        height=y + _MARGIN,
        text=plain(" ".join(sentences(flow))),
        arrows=Markup().join(_arrow(top + _BOX, below) for (_, top), (_, below) in pairwise(boxes)),
        boxes=Markup().join(_box(part, top) for part, top in boxes),
        bands=Markup().join(_band(band, top) for band, top in bands),
    )


def sentences(flow: WorkflowOverview) -> Iterator[str]:
    """Yield what the picture shows: a sentence for each task, and for the hooks at it."""
    for shape in _shapes(flow):
        if isinstance(shape, _Band):
            hooks = ", ".join(f"{each.title} ({PARTS[each.state][0].lower()})" for each in shape.parts)
            yield f"Hooks, {shape.word}: {hooks}."
        else:
            yield f"{shape.title}: {PARTS[shape.state][0].lower()}."


def anchor(part: Part) -> str:
    """Return the id of the row to which a part of the picture leads: that of its task, or of the ends."""
    return f"task-{part.place.task}" if part.place.task else "ends"


def _shapes(flow: WorkflowOverview) -> Iterator[Part | _Band]:
    yield from _bands("before all", flow.start)
    for each in flow.tasks:
        yield from _bands("before", each.before)
        yield each.task
        yield from _bands("after", each.after)
    yield from _bands("after all", flow.end)
    yield from _bands("diagnostics", flow.more)
    yield from _bands("on error", flow.on_error)
    yield from _bands("at each end", flow.always)


def _bands(word: str, parts: Sequence[Part]) -> Iterator[_Band]:
    if parts:
        yield _Band(word, parts)


def _arrow(top: int, below: int) -> Markup:
    return Markup('<path class="arrow" d="M{x} {top}V{below}" marker-end="url(#arrow)"/>').format(
        x=_LINE, top=top, below=below - 1
    )


def _box(part: Part, top: int) -> Markup:
    word, tone = PARTS[part.state]
    title = plain(part.title)
    return Markup(
        '<a class="box {tone}{idle}" href="#{anchor}"><title>{title}: {word}</title>'
        '<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="9"/>'
        '<text class="name" x="{inside}" y="{first}">{short}</text>'
        '<circle cx="{dot}" cy="{middle}" r="4"/><text class="word" x="{beside}" y="{second}">{word}</text></a>'
    ).format(
        tone=tone,
        idle=" idle" if part.state in _IDLE else "",
        anchor=anchor(part),
        title=title,
        word=word,
        left=_MARGIN,
        top=top,
        width=_WIDTH - 2 * _MARGIN,
        height=_BOX,
        inside=_MARGIN + 14,
        first=top + 21,
        short=shortened(title, _FITTING),
        dot=_MARGIN + 18,
        middle=top + 36,
        beside=_MARGIN + 28,
        second=top + 40.5,
    )


def _band(band: _Band, top: int) -> Markup:
    shown, left_out = band.parts[:_MOST], len(band.parts) - _MOST
    more = Markup('<text class="count" x="{x}" y="{y}">+{count}</text>').format(
        x=_MARKS + _MOST * _STEP, y=top + 16.5, count=left_out
    )
    return Markup('<text class="count" x="{x}" y="{y}">{word}</text>{marks}{more}').format(
        x=_LINE + 14,
        y=top + 16.5,
        word=band.word,
        marks=Markup().join(_mark(part, number, top) for number, part in enumerate(shown)),
        more=more if left_out > 0 else "",
    )


def _mark(part: Part, number: int, top: int) -> Markup:
    word, tone = PARTS[part.state]
    return Markup(
        '<a class="box mark {tone}{idle}" href="#{anchor}"><title>{title}: {word}</title>'
        '<circle cx="{x}" cy="{y}" r="5.5"/></a>'
    ).format(
        tone=tone,
        idle=" idle" if part.state in _IDLE else "",
        anchor=anchor(part),
        title=plain(part.title),
        word=word,
        x=_MARKS + number * _STEP,
        y=top + 12,
    )

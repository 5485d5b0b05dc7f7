"""Terminal output: words and shapes for states, times, tables; without colours where unsupported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from tidegate.rules.timestamp import timestamp_from
from tidegate_cli.harmless import dumps, plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from tidegate_cli.table import WholeTable

#: A state's shape, its word and its colour. Colours are the terminal's own, readable on dark and on light.
_STATES = {
    "queued": ("○", "queued", "default"),
    "planning": ("◔", "planning", "cyan"),
    "gated": ("◌", "waiting for others", "default"),
    "blocked": ("■", "blocked", "bold red"),
    "awaiting_review": ("◆", "waiting for review", "bold magenta"),
    "approved": ("◑", "approved", "cyan"),
    "awaiting_requirements": ("◆", "requirements missing", "bold magenta"),
    "applying": ("◕", "applying", "cyan"),
    "applied": ("✔", "applied", "green"),
    "no_changes": ("✔", "no changes", "green"),
    "plan_failed": ("✘", "plan failed", "bold red"),
    "apply_failed": ("✘", "apply failed", "bold red"),
    "rejected": ("✘", "rejected", "red"),
    "review_expired": ("✘", "review timed out", "red"),
    "gate_expired": ("✘", "timed out waiting", "red"),
    "refused": ("✘", "refused", "red"),
    "superseded": ("↷", "superseded", "default"),
    "outcome_unknown": ("?", "outcome unknown", "bold red"),
    "engine_fault": ("✘", "internal error", "bold red"),
    # Of plans of pull requests:
    "waiting": ("○", "waiting", "default"),
    "planned": ("✔", "planned", "green"),
    "failed": ("✘", "plan failed", "bold red"),
    "cancelled": ("↷", "cancelled", "default"),
}
_UNDER_WAY = frozenset(
    {"queued", "planning", "gated", "blocked", "awaiting_review", "approved", "awaiting_requirements", "applying"}
)
_SUCCEEDED = frozenset({"applied", "no_changes"})
#: Columns without a terminal: scripts read each name in one piece.
_PIPED = 10_000
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def is_final(state: str) -> bool:
    """Tell whether a deployment in ``state`` has ended."""
    return state not in _UNDER_WAY


def succeeded(state: str) -> bool:
    """Tell whether a deployment that ended in ``state`` succeeded."""
    return state in _SUCCEEDED


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is: nothing in it is markup, a link, an emoji or highlighted."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _PIPED
    return made


def print_json(value: Any) -> None:
    """Print one JSON document."""
    typer.echo(dumps(value))


def show(document: Any, view: RenderableType, *, json: bool) -> None:
    """Print the JSON document for scripts, or the view of it for people."""
    if json:
        print_json(document)
    else:
        console().print(view, crop=False)


def say(text: str, document: Any, *, json: bool) -> None:
    """Print the JSON document for scripts, or sentences for people, harmless: they may quote what others wrote."""
    if json:
        print_json(document)
    else:
        typer.echo("\n".join(map(plain, text.split("\n"))))


def note(text: str) -> None:
    """Print a message on stderr, where it disturbs no script."""
    if text:
        typer.echo(plain(text), err=True)


def text(value: str, style: str = "") -> Text:
    """Return text from outside, harmless, in a style."""
    from rich.text import Text

    return Text(plain(value), style=style)


def state(name: str) -> Text:
    """Return a state as a shape and a word."""
    shape, word, style = _STATES.get(name, ("·", name.replace("_", " "), "default"))
    return text(f"{shape} {word}", style)


def state_word(name: str) -> str:
    """Return a state's word."""
    return _STATES[name][1] if name in _STATES else plain(name.replace("_", " "))


def table(*columns: str, right: Iterable[str] = (), whole: Iterable[str] = (), spare: Iterable[str] = ()) -> WholeTable:
    """Return a table without lines, of which nothing is cut: what is too long goes on in the next line.

    The columns ``right`` are numbers, the columns ``whole`` are not broken, and the columns ``spare`` are left out,
    the last one first, where the terminal has no room.
    """
    from tidegate_cli.table import Heading, WholeTable

    numbers, unbroken, optional = set(right), set(whole), set(spare)
    return WholeTable([Heading(name, name in numbers, name in unbroken, name in optional) for name in columns])


def facts(rows: Sequence[tuple[str, str | Text]]) -> RenderableType:
    """Return labels and values, one a line; rows without a value are left out.

    A line is not folded here but by the terminal, so that addresses and ids can be copied whole.
    """
    from rich.console import Group
    from rich.text import Text

    shown = [(label, text(value) if isinstance(value, str) else value) for label, value in rows if value]
    width = max((len(label) for label, _ in shown), default=0) + 2
    return Group(
        *(Text.assemble((label.ljust(width), "dim"), value, no_wrap=True, overflow="ignore") for label, value in shown)
    )


def ago(at: str | datetime, now: datetime | None = None) -> str:
    """Return how long ago a time was, in one unit: ``5 min ago``.

    ``at`` is the API's text, which the type checker takes for its model's instant; what is none stays as it is.
    """
    try:
        seconds = max(0, int(((now or datetime.now(UTC)) - timestamp_from(at)).total_seconds()))
    except ValueError:
        return plain(str(at))
    if seconds < _MINUTE:
        return "just now" if not seconds else f"{seconds} s ago"
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return ""


def moment(at: str | datetime) -> str:
    """Return a time to the second, as it is in UTC. ``at`` is as for ``ago``."""
    try:
        return f"{timestamp_from(at):%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return plain(str(at))

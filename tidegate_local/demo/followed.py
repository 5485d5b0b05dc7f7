"""Follow check runs on a commit, and show them with their earlier titles."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from tidegate_local.demo.stage import REPOSITORY, Stage, awaited
from tidegate_local.forge.client import ForgeClient

#: How check runs end that hold nothing up.
_GOOD = frozenset({"success", "neutral", "skipped"})


@dataclass
class Followed:
    """What is known of a check run, by its name: the newest of this name, and when each title was first seen.

    ``label`` is what the screen calls it. Of a title that has counts behind a colon only the words are shown on the
    way, unless it is ``whole``.
    """

    name: str
    label: str
    whole: bool = False
    check_run: Mapping[str, Any] = field(default_factory=dict)
    seen: list[tuple[str, float]] = field(default_factory=list)

    @property
    def title(self) -> str:
        return (self.check_run.get("output") or {}).get("title") or "not started yet"

    @property
    def step(self) -> str:
        """The title as the screen shows it."""
        return self.title if self.whole else self.title.partition(":")[0]

    @property
    def conclusion(self) -> str | None:
        return self.check_run.get("conclusion")

    @property
    def waits_for_review(self) -> bool:
        return self.conclusion == "action_required"

    @property
    def done(self) -> bool:
        return self.check_run.get("status") == "completed" and not self.waits_for_review

    @property
    def is_good(self) -> bool:
        """Tell whether it has ended, and holds nothing up."""
        return self.done and self.conclusion in _GOOD


def follow(
    stage: Stage,
    sha: str,
    followed: Sequence[Followed],
    meanwhile: Callable[[Console], None] = lambda _console: None,
) -> None:
    """Show check runs on a commit until all have completed; call ``meanwhile`` after each poll. Raise DemoFailed."""
    with Live(console=stage.console, refresh_per_second=8, transient=False) as live:

        def ended() -> bool | None:
            look(stage.forge, sha, followed)
            live.update(progress(followed))
            meanwhile(live.console)
            return all(one.done for one in followed) or None

        awaited(ended, f"The end of {', '.join(one.name for one in followed)}")
    if not stage.console.is_terminal:  # Where it cannot draw in place, the last picture has no end of line.
        stage.console.line()


def look(forge: ForgeClient, sha: str, followed: Sequence[Followed]) -> None:
    """Bring what is known up to date with the check runs on the commit."""
    runs = forge.check_runs(REPOSITORY, sha)
    for one in followed:
        mine = [run for run in runs if run["name"] == one.name]
        if not mine:
            continue
        one.check_run = max(mine, key=lambda run: int(run["id"]))
        if not one.seen or one.seen[-1][0] != one.step:
            one.seen.append((one.step, time.monotonic()))


def progress(followed: Sequence[Followed]) -> Group:
    """Draw one line for each, with all that it went through."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(no_wrap=True)
    table.add_column()
    for one in followed:
        way = Text(" → ").join(Text(title, style="dim") for title, _ in one.seen[:-1])
        now = Text(one.step, style=f"bold {_colour(one)}")
        table.add_row(_mark(one), Text(one.label, style="bold"), Text.assemble(way, " → " if one.seen[1:] else "", now))
    return Group(table)


def _mark(one: Followed) -> Text | Spinner:
    if not one.done:
        return Spinner("dots")
    return Text("✓" if one.is_good else "✗", style=_colour(one))


def _colour(one: Followed) -> str:
    if not one.done:
        return "yellow"
    return "green" if one.is_good else "red"

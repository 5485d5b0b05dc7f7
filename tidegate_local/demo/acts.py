"""The demo: its acts, and their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.console import Console

from tidegate_local.client import LocalCloud
from tidegate_local.demo import clusters, deploys, pull_request, updates
from tidegate_local.demo.stage import Stage


@dataclass(frozen=True, slots=True)
class Act:
    """An act: what it shows, how it is played, and its last sentence. ``play`` raises DemoFailed."""

    shows: str
    play: Callable[[Stage], None]
    ended: str


def _changes(stage: Stage) -> None:
    """A merge, and a pull request that a policy blocks."""
    first = deploys.play(stage)
    stage.console.print()
    second = pull_request.play(stage)
    stage.console.print()
    stage.console.rule("[bold]What was applied")
    for line in (*deploys.results(stage, first), *deploys.results(stage, second, " once more")):
        stage.say(line)


#: What a demo plays unless it is asked for another act.
CHANGES = "changes"
#: All acts by name.
ACTS: Mapping[str, Act] = {
    CHANGES: Act("a merge and a pull request are planned, reviewed and applied", _changes, "Everything is applied."),
    "updates": Act(
        "images that CI announces are tested, and promoted from staging to production",
        updates.play,
        "Production runs what passed its checks.",
    ),
    "clusters": Act(
        "clusters are created, and an upgrade that fails in the middle is resumed",
        clusters.play,
        "The upgrade went on where it had failed.",
    ),
}


def play(cloud: LocalCloud, console: Console, act: str = CHANGES) -> None:
    """Play an act on a running local cloud. Raise DemoFailed on an unexpected result."""
    ACTS[act].play(Stage(cloud, console))

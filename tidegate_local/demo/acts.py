"""The demo: its two scenarios, and links to their results."""

from __future__ import annotations

from rich.console import Console

from tidegate_local.client import LocalCloud
from tidegate_local.demo import deploys, pull_request
from tidegate_local.demo.stage import Stage


def play(cloud: LocalCloud, console: Console) -> None:
    """Run the demo on a running local cloud. Raise DemoFailed on an unexpected result."""
    stage = Stage(cloud, console)
    first = deploys.play(stage)
    console.print()
    told = pull_request.play(stage)
    console.print()
    console.rule("[bold]Pages of this run (the local cloud stops with the demo)")
    for line in (
        *deploys.where_to_look(stage, first),
        *pull_request.where_to_look(stage, told),
        *deploys.where_to_look(stage, told.deploys, " once more"),
    ):
        console.print(line, soft_wrap=True)

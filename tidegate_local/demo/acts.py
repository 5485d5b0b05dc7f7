"""The demo: its two scenarios, and their results."""

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
    second = pull_request.play(stage)
    console.print()
    console.rule("[bold]What was applied")
    for line in (*deploys.results(stage, first), *deploys.results(stage, second, " once more")):
        stage.say(line)

"""The report of a smoke test: each step when it ends, and all at the end, for people or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tidegate_cli.smoke.course import Outcome, Step
from tidegate_cli.smoke.scene import Scene

if TYPE_CHECKING:
    from rich.console import Console

_SHAPES = {"passed": ("✔", "green"), "failed": ("✘", "bold red"), "skipped": ("–", "dim")}


def tell(console: Console, step: Step, outcome: Outcome | None) -> None:
    """Print that a step begins, or how it ended."""
    from rich.text import Text

    from tidegate_cli import screen

    if outcome is None:
        if console.is_terminal:
            console.print(screen.text(f"… {step.name} (at most {step.minutes:g} min)", "dim"))
        return
    shape, style = _SHAPES[outcome.verdict]
    took = f"{outcome.seconds:7.1f} s" if outcome.verdict != "skipped" else " " * 9
    console.print(Text.assemble((f"{shape} {took}  ", style), screen.text(f"{step.name:<28}", "bold")), end="  ")
    console.print(screen.text(outcome.said))
    if outcome.verdict == "failed" and outcome.look_at:
        console.print(screen.text(f"            → {outcome.look_at}"))


def document(scene: Scene, outcomes: Sequence[Outcome], cost: float) -> dict[str, Any]:
    """Return the whole test as plain data."""
    return {
        "prefix": scene.names.prefix,
        "account": scene.account,
        "region": scene.place.region,
        "repository": scene.scratch.repository,
        "passed": passed(outcomes),
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 1),
        "cost_dollars": round(cost, 3),
        "steps": [{**asdict(outcome), "seconds": round(outcome.seconds, 1)} for outcome in outcomes],
    }


def passed(outcomes: Sequence[Outcome]) -> bool:
    """Tell whether no step fails."""
    return all(outcome.verdict != "failed" for outcome in outcomes)


def summary(scene: Scene, outcomes: Sequence[Outcome], cost: str) -> str:
    """Return the last lines of the report."""
    failed = [outcome.step for outcome in outcomes if outcome.verdict == "failed"]
    took = sum(outcome.seconds for outcome in outcomes) / 60
    verdict = f"FAILED at: {', '.join(failed)}" if failed else "PASSED"
    where = f"{scene.names.prefix} in {scene.account}, {scene.place.region}"
    return f"{verdict}. {where}: {len(outcomes)} steps in {took:.1f} min. {cost}"

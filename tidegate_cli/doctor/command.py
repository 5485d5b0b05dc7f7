"""``tidegate doctor``: checks what a deploy to AWS needs, and says for each thing that is missing what to do."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate_cli.exits import Exit
from tidegate_cli.options import Json, Prefix
from tidegate_cli.problems import WrongUsage

if TYPE_CHECKING:
    from rich.console import Console

    from tidegate_cli.doctor.result import Result

_LOOKS = {"ok": ("✔", "green"), "warn": ("!", "bold magenta"), "fail": ("✘", "bold red")}


def doctor(
    *,
    configuration: Annotated[
        Path, typer.Option(metavar="FILE", help="The cdk.json to check.", show_default=True)
    ] = Path("cdk.json"),
    context: Annotated[
        list[str] | None, typer.Option("--context", "-c", metavar="KEY=VALUE", help="A context key, as for cdk deploy.")
    ] = None,
    prefix: Prefix = "",
    json: Json = False,
) -> None:
    """Check what a deploy to AWS needs, and the settings on GitHub or GitLab.

    Changes nothing. Exits 1 if a required check fails.
    """
    from tidegate_cli import screen
    from tidegate_cli.doctor.checks import run_checks

    results, console = [], screen.console(stderr=json)
    for result in run_checks(configuration, ({"prefix": prefix} if prefix else {}) | _pairs(context or [])):
        results.append(result)
        if not json:
            _show(console, result)
    if json:
        screen.print_json({"checks": [asdict(result) for result in results]})
    else:
        _sum_up(console, results)
    if any(result.verdict == "fail" for result in results):
        raise typer.Exit(int(Exit.FAILED))


def _pairs(given: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if not all(key and equals for key, equals, _ in pairs):
        raise WrongUsage("A context key has no value.", "Write `-c KEY=VALUE`, such as `-c forge=gitlab`.")
    return {key: value for key, _, value in pairs}


def _show(console: Console, result: Result) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from tidegate_cli import screen

    shape, style = _LOOKS[result.verdict]
    console.print(Text.assemble((f"{shape} {result.verdict:<4}", style), "  ", screen.text(result.check, "bold")))
    console.print(Padding(screen.text(result.found), (0, 0, 0, 8), expand=False))
    if result.do:
        console.print(Padding(screen.text(f"→ {result.do}"), (0, 0, 0, 8), expand=False))


def _sum_up(console: Console, results: list[Result]) -> None:
    failed = sum(result.verdict == "fail" for result in results)
    warned = sum(result.verdict == "warn" for result in results)
    counts = f"{len(results)} checks, {failed} failed, {warned} with a warning."
    console.print(f"{counts} {'Correct what failed, then run it again.' if failed else 'Ready to deploy.'}")

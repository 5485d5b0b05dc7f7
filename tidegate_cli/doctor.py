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

    from tidegate_cli.diagnosis import Finding

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
    from tidegate_cli.examination import examine

    findings, console = [], screen.console(stderr=json)
    for finding in examine(configuration, ({"prefix": prefix} if prefix else {}) | _pairs(context or [])):
        findings.append(finding)
        if not json:
            _show(console, finding)
    if json:
        screen.print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        _sum_up(console, findings)
    if any(finding.verdict == "fail" for finding in findings):
        raise typer.Exit(int(Exit.FAILED))


def _pairs(given: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if not all(key and equals for key, equals, _ in pairs):
        raise WrongUsage("A context key has no value.", "Write `-c KEY=VALUE`, such as `-c forge=gitlab`.")
    return {key: value for key, _, value in pairs}


def _show(console: Console, finding: Finding) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from tidegate_cli import screen

    shape, style = _LOOKS[finding.verdict]
    console.print(Text.assemble((f"{shape} {finding.verdict:<4}", style), "  ", screen.text(finding.check, "bold")))
    console.print(Padding(screen.text(finding.found), (0, 0, 0, 8), expand=False))
    if finding.do:
        console.print(Padding(screen.text(f"→ {finding.do}"), (0, 0, 0, 8), expand=False))


def _sum_up(console: Console, findings: list[Finding]) -> None:
    failed = sum(finding.verdict == "fail" for finding in findings)
    warned = sum(finding.verdict == "warn" for finding in findings)
    counts = f"{len(findings)} checks, {failed} failed, {warned} with a warning."
    console.print(f"{counts} {'Correct what failed, then run it again.' if failed else 'Ready to deploy.'}")

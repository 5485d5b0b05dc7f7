"""``tidegate policy``: a team's own policies and their tests, evaluated on this machine as they are on AWS."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.configuration import content_of
from tidegate_cli.exits import Exit
from tidegate_cli.options import Json
from tidegate_cli.problems import NotFound, Refused, WrongUsage
from tidegate_cli.tree import Command, Group

if TYPE_CHECKING:
    from tidegate.policies.rego.engine import RegoEngine
    from tidegate.policies.rules.policy import PolicyVerdict
    from tidegate.policies.rules.tested_policies import TestedPolicies

app = typer.Typer(cls=Group, no_args_is_help=True, help="Test policies, and evaluate a plan, on this machine.")

#: As long as a set may take where it is alone.
_SECONDS = 90
_WORDS = {"deny": "✘ deny", "violation": "✘ violation", "warn": "! warn"}


@app.command(cls=Command, name="test")
def run_tests(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory with policies and tests.")],
    *,
    json: Json = False,
) -> None:
    """Run policy tests: the rules test_… in files that end in _test.rego.

    Exits 1 if a test fails or cannot be evaluated, or if there is none.
    """
    from tidegate.policies.rules.files import is_file_of_tests

    files = _files([directory], is_file_of_tests)
    found = _engine().test(files, _SECONDS)
    if json:
        from tidegate_cli.screen import print_json

        print_json(_tests_document(found))
    else:
        _show_tests(found)
    if not found.passed:
        raise typer.Exit(int(Exit.FAILED))


@app.command(cls=Command, name="check")
def check(
    plan: Annotated[Path, typer.Argument(metavar="PLAN.json", help="The plan, as `terraform show -json` prints it.")],
    *,
    policies: Annotated[
        list[Path],
        typer.Option("--policies", metavar="DIR", help="A directory of policies. You may repeat the option."),
    ],
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            "--namespace", metavar="PACKAGE", help="A package to evaluate. You may repeat the option. Default: main."
        ),
    ] = None,
    cost: Annotated[
        Path | None,
        typer.Option("--cost", metavar="INFRACOST.json", help="What the plan costs: Infracost's JSON output."),
    ] = None,
    json: Json = False,
) -> None:
    """Evaluate policies on a plan, as for a pull request. Exits 1 if they deny it."""
    from tidegate.plans.rules.cost import with_cost
    from tidegate.plans.rules.infracost import read_cost
    from tidegate.policies.rules.files import is_policy_file

    command = "tidegate policy check PLAN.json --policies DIR"
    content = content_of(plan, command)
    if cost is not None:
        content = with_cost(content, read_cost(content_of(cost, f"{command} --cost INFRACOST.json"), str))
    files = _files(policies, is_policy_file)
    verdict = _engine().check("policies", files, namespace or ("main",), content, _SECONDS)
    if json:
        from tidegate_cli.screen import print_json

        print_json(_verdict_document(verdict))
    else:
        _show_verdict(verdict)
    if verdict.failed:
        raise typer.Exit(int(Exit.FAILED))


def _engine() -> RegoEngine:
    from importlib.util import find_spec

    if find_spec("regorus") is None:
        raise Refused("The policy engine is not installed.", "Install it: uv sync --group policies")
    from tidegate.policies.rego.engine import RegoEngine

    return RegoEngine()


def _files(directories: Sequence[Path], wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the files of directories by their paths; hidden ones, and links, are left out."""
    from tidegate.policies.rules.files import MAXIMUM_BYTES, MAXIMUM_FILES

    found: dict[str, bytes] = {}
    for directory in directories:
        if not directory.is_dir():
            raise NotFound(f"The directory {directory} does not exist.", "Name a directory that has policies.")
        for place, below, names in os.walk(directory):
            below[:] = sorted(each for each in below if not each.startswith("."))
            for path in (Path(place) / name for name in sorted(names) if not name.startswith(".")):
                if wanted(path.as_posix()) and not path.is_symlink():
                    found[path.as_posix()] = content_of(path, "tidegate policy test DIR")
                if len(found) > MAXIMUM_FILES or sum(map(len, found.values())) > MAXIMUM_BYTES:
                    limit = f"{MAXIMUM_FILES} files of {MAXIMUM_BYTES >> 20} MiB together"
                    raise WrongUsage(
                        f"{directory} is too large for policies: at most {limit}.", "Name a smaller directory."
                    )
    return found


def _show_tests(found: TestedPolicies) -> None:
    from tidegate_cli import screen

    if found.error:
        typer.echo(screen.text(f"✘ {_place(found.file, found.line)}{found.error}").plain)
        return
    if not found.rules:
        typer.echo("✘ There are no tests. Write rules test_… in files that end in _test.rego.")
        return
    table = screen.table("", "Test", "Place", whole=("",))
    for each in found.rules:
        mark = screen.text("✔", "green") if each.passed else screen.text("✘", "bold red")
        table.add_row(mark, screen.text(each.name), screen.text(_place(each.file, each.line).rstrip(": ")))
        if each.error:
            table.add_row("", screen.text(each.error), "")
    screen.console().print(table)
    failed = sum(not each.passed for each in found.rules)
    typer.echo(f"{len(found.rules) - failed} passed, {failed} failed.")


def _show_verdict(verdict: PolicyVerdict) -> None:
    from tidegate_cli import screen

    if verdict.error:
        typer.echo(screen.text(f"✘ {_place(verdict.file, verdict.line)}{verdict.error}").plain)
        return
    table = screen.table("", "Rule", "Resource", "Message", whole=("",))
    for each in verdict.findings:
        mark = f"· exempted by {each.exempted_by}" if each.exempted_by else _WORDS[each.severity]
        table.add_row(*(screen.text(text) for text in (mark, each.rule, each.address, each.message)))
    if verdict.findings:
        screen.console().print(table)
    if verdict.omitted:
        typer.echo(f"{verdict.omitted} more are not shown.")
    typer.echo("✘ The policies deny the plan." if verdict.failed else "✔ The policies allow the plan.")


def _place(file: str, line: int) -> str:
    return f"{file}:{line}: " if line else f"{file}: " if file else ""


def _tests_document(found: TestedPolicies) -> dict[str, Any]:
    return {
        "passed": found.passed,
        "error": {"text": found.error, "file": found.file, "line": found.line} if found.error else None,
        "tests": [
            {"name": each.name, "passed": each.passed, "error": each.error, "file": each.file, "line": each.line}
            for each in found.rules
        ],
    }


def _verdict_document(verdict: PolicyVerdict) -> dict[str, Any]:
    error = {"text": verdict.error, "file": verdict.file, "line": verdict.line}
    return {
        "passed": not verdict.failed,
        "error": error if verdict.error else None,
        "omitted": verdict.omitted,
        "findings": [
            {
                "severity": each.severity.value,
                "rule": each.rule,
                "message": each.message,
                "address": each.address,
                "exempted_by": each.exempted_by,
                "file": each.file,
                "line": each.line,
            }
            for each in verdict.findings
        ],
    }

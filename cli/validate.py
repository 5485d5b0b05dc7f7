"""``tidegate validate``: everything that is wrong with a configuration file, before anybody merges it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.exits import Exit
from cli.options import Json
from cli.problems import NotFound, Refused

if TYPE_CHECKING:
    from tidegate.config.loader import LoadedConfiguration
    from tidegate.domain.errors import InvalidConfiguration

#: Stands for the repository, whose name only the root at its top would have.
_REPOSITORY = "owner/repository"


def validate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file.", show_default=True)] = Path("tidegate.yaml"),
    *,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema that editors read, and end.")] = False,
    json: Json = False,
) -> None:
    """Check a configuration file: every mistake with its line and column, and what is easily misunderstood.

    Exits 1 when the file cannot be used, 0 also with warnings.
    """
    from cli import screen

    if schema:
        from tidegate.config.schema import json_schema

        screen.print_json(json_schema())
        return
    from tidegate.config.loader import LoadedConfiguration, examine_configuration

    found = examine_configuration(_read(file), _REPOSITORY, file=str(file))
    valid = isinstance(found, LoadedConfiguration)
    if json:
        screen.print_json(_document(file, found))
    else:
        _show(file, found)
    if not valid:
        raise typer.Exit(int(Exit.FAILED))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"There is no file {file}.", "Name it: tidegate validate FILE") from None
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}.", "Look at its kind and its permissions.") from None


def _document(file: Path, found: LoadedConfiguration | list[InvalidConfiguration]) -> dict[str, Any]:
    errors = found if isinstance(found, list) else []
    warnings = [] if isinstance(found, list) else found.warnings
    return {
        "file": str(file),
        "valid": not errors,
        "errors": [
            {"line": each.line, "column": each.column, "problem": each.problem, "allowed": each.allowed}
            for each in errors
        ],
        "warnings": [{"line": each.line, "column": each.column, "text": each.text} for each in warnings],
    }


def _show(file: Path, found: LoadedConfiguration | list[InvalidConfiguration]) -> None:
    from cli import screen

    # Lines are not wrapped, so that editors and scripts find the place at their beginning.
    if isinstance(found, list):
        for error in found:
            typer.echo(screen.text(f"✘ {error}").plain)
        typer.echo(f"{len(found)} mistake{'' if len(found) == 1 else 's'}: nothing of such a commit is deployed.")
        return
    for warning in found.warnings:
        typer.echo(screen.text(f"! {file}:{warning.line}:{warning.column}: {warning.text}").plain)
    roots = "the roots are found by their modules" if found.roots is None else f"{len(found.roots)} roots"
    typer.echo(screen.text(f"✔ {file} is in order: {roots}.").plain)

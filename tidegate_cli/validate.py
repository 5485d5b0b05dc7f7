"""``tidegate validate``: everything that is wrong with a configuration file, before anybody merges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.configuration import FILE, content_of
from tidegate_cli.exits import Exit
from tidegate_cli.options import Json
from tidegate_cli.organization import checked

if TYPE_CHECKING:
    from tidegate.config.loaded import LoadedConfiguration
    from tidegate.rules.errors import InvalidConfiguration

#: Stands for the repository, whose name only the root at its top would have.
_REPOSITORY = "owner/repository"


_File = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="The file. Default: the nearest tidegate.yaml upwards.")
]
_Organization = Annotated[
    Path | None,
    typer.Option(
        "--organization", metavar="FILE", help="The organization-wide file: validate it, and FILE under its rules."
    ),
]


def validate(
    file: _File = None,
    *,
    organization: _Organization = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema for editors.")] = False,
    json: Json = False,
) -> None:
    """Check a configuration file: print all errors and warnings with line and column.

    In a checkout, also check its roots. Exits 1 if the file is invalid or a root cannot be deployed with it, 0 with
    warnings only.
    """
    from tidegate_cli import screen

    if schema:
        from tidegate.config.schema import json_schema

        screen.print_json(json_schema())
        return
    from tidegate.config.loaded import LoadedConfiguration
    from tidegate.config.loader import always_reviewed, examine_configuration
    from tidegate_cli.checkout import own_file

    file = file or own_file()
    around = always_reviewed()
    if organization is not None:
        around = checked(organization, content_of(organization, "tidegate validate --organization FILE"))
        if not file.exists():
            typer.echo(screen.text(f"✔ {organization} is valid.").plain)
            return
    found = examine_configuration(content_of(file, "tidegate validate FILE"), _REPOSITORY, around, str(file))
    roots = _Roots()
    if isinstance(found, LoadedConfiguration):
        screen.note(_unchecked_destinations(found))
        roots = _roots(file, found)
    if json:
        screen.print_json(_document(file, found, roots))
    else:
        _show(file, found, roots)
    if not isinstance(found, LoadedConfiguration) or roots.refused:
        raise typer.Exit(int(Exit.FAILED))


@dataclass(frozen=True, slots=True)
class _Roots:
    """What a file means for the roots of the checkout that it stands in: sentences by the root's name."""

    count: int | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    root_warnings: Sequence[str] = ()


def _unchecked_destinations(loaded: LoadedConfiguration) -> str:
    """Return which destinations of notifications are not checked: only the installation knows its own."""
    names = sorted({name for each in loaded.notifications for name in each.destinations})
    if not names:
        return ""
    return f"Not checked: whether the installation declares {', '.join(names)}. Its check of the configuration says so."


def _roots(file: Path, loaded: LoadedConfiguration) -> _Roots:
    """Return what the file means for roots; nothing where it is not the file of a checkout."""
    from tidegate_cli import screen
    from tidegate_cli.checkout import checkout_around
    from tidegate_cli.planned_clusters import refused_clusters
    from tidegate_cli.root_warnings import root_warnings

    checkout = checkout_around(file.parent)
    if checkout is None or file.resolve() != checkout.top / FILE:
        if loaded.clusters:
            screen.note(f"The files of the clusters are not checked, as this is not the {FILE} of a git repository.")
        return _Roots()
    screen.note(checkout.warning)
    found = checkout.found(loaded)
    configured = checkout.configured(loaded, checkout.branch)
    warned = root_warnings(checkout, loaded, configured)
    refused = {**refused_clusters(checkout.top, loaded), **checkout.refused(found, configured)}
    return _Roots(len(found.roots), refused, configured.left_out, warned)


def _document(file: Path, found: LoadedConfiguration | list[InvalidConfiguration], roots: _Roots) -> dict[str, Any]:
    errors = found if isinstance(found, list) else []
    warnings = [] if isinstance(found, list) else found.warnings
    return {
        "file": str(file),
        "valid": not errors and not roots.refused,
        "errors": [
            {"line": each.line, "column": each.column, "problem": each.problem, "allowed": each.allowed}
            for each in errors
        ],
        "warnings": [{"line": each.line, "column": each.column, "text": each.text} for each in warnings],
        "refused": dict(roots.refused),
        "left_out": dict(roots.left_out),
        "root_warnings": list(roots.root_warnings),
    }


def _show(file: Path, found: LoadedConfiguration | list[InvalidConfiguration], roots: _Roots) -> None:
    from tidegate_cli import screen

    # Lines are not wrapped, so that editors and scripts find the place at their beginning.
    if isinstance(found, list):
        for error in found:
            typer.echo(screen.text(f"✘ {error}").plain)
        typer.echo(f"{len(found)} mistake{'' if len(found) == 1 else 's'}: Tidegate does not deploy such a commit.")
        return
    for warning in found.warnings:
        typer.echo(screen.text(f"! {file}:{warning.line}:{warning.column}: {warning.text}").plain)
    for name, why in roots.left_out.items():
        typer.echo(screen.text(f"! {name}: {why}").plain)
    for sentence in roots.root_warnings:
        typer.echo(screen.text(f"! {sentence}").plain)
    for name, why in roots.refused.items():
        typer.echo(screen.text(f"✘ {name}: {why}").plain)
    if roots.refused:
        count = len(roots.refused)
        typer.echo(f"{count} root{' is' if count == 1 else 's are'} not deployed until you correct this.")
        return
    typer.echo(screen.text(f"✔ {file} is valid: {_counted(found, roots)}{_clusters(found)}{_image_sets(found)}.").plain)


def _image_sets(found: LoadedConfiguration) -> str:
    """Return how many image sets a config repository declares, empty for another repository."""
    count = len(found.config_updates.sets) if found.config_updates else 0
    return f", {count} image set{'' if count == 1 else 's'}" if count else ""


def _clusters(found: LoadedConfiguration) -> str:
    """Return how many of the roots are clusters, empty if none is."""
    count = len(found.clusters)
    return f", {count} cluster{'' if count == 1 else 's'} among them" if count else ""


def _counted(found: LoadedConfiguration, roots: _Roots) -> str:
    if roots.count is not None:
        return f"{_roots_in_words(roots.count)} in this checkout"
    if found.roots is None or found.globs:
        return "Tidegate finds the roots by their modules"
    return _roots_in_words(len(found.declared))


def _roots_in_words(count: int) -> str:
    return f"{count} root{'' if count == 1 else 's'}"

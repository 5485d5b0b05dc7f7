"""``tidegate convert``: tidegate.yaml from the configuration file of Atlantis or Terrateam."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Json
from cli.problems import Refused, WrongUsage

if TYPE_CHECKING:
    from cli.converting.draft import Draft


def convert(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", show_default=False, help="atlantis.yaml, or .terrateam/config.yml.")
    ],
    *,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", show_default=False, help="Write it here; else print it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file that is there.")] = False,
    json: Json = False,
) -> None:
    """Write tidegate.yaml from a file of Atlantis or Terrateam, and tell on stderr what could not be carried over."""
    from cli import screen
    from cli.configuration import content_of

    if output is not None and os.path.lexists(output) and not force:
        raise Refused(f"{output} exists already; it is left as it is.", "Add --force to overwrite it.")
    draft, text = _converted(file, content_of(file, "tidegate convert FILE"))
    left_out = sorted(set(draft.left_out))
    if output is not None:
        _write(output, text)
    if json:
        told = [{"line": each.line, "text": each.text} for each in left_out]
        screen.print_json({"file": str(output) if output else None, "content": text, "left_out": told})
        return
    if output is None:
        typer.echo(text, nl=False)
    for each in left_out:
        screen.note(f"! {file}:{each.line}: {each.text}")
    written = f"{output} is written. " if output is not None else ""
    count = f"{len(left_out)} to look at above" if left_out else "Everything was carried over"
    screen.note(f"{written}{count}. Look over it: tidegate validate, tidegate explain.")


def _converted(file: Path, raw: bytes) -> tuple[Draft, str]:
    from cli.converting import atlantis, terrateam
    from cli.converting.draft import CannotLeaveOut, finished
    from tidegate.config.document import read_document
    from tidegate.domain.errors import InvalidConfiguration

    try:
        document = read_document(str(file), raw)
        if not isinstance(document.content, dict):
            raise Refused(f"{file} is not a mapping, so it is no configuration of Atlantis or Terrateam.")
        is_atlantis = "projects" in document.content or file.name.startswith("atlantis")
        draft = atlantis.draft_of(document) if is_atlantis else terrateam.draft_of(document)
        return draft, finished(draft)
    except CannotLeaveOut as error:
        told = "\n".join(f"{file}:{each.line}: {each.text}" for each in error.left_out)
        hint = "Correct these first: they guard something, and more would be allowed without them. Nothing is written."
        raise Refused(told, hint) from None
    except InvalidConfiguration as error:
        raise Refused(str(error), "Correct the file first.") from None


def _write(output: Path, text: str) -> None:
    """Write the file whole or not at all."""
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(output)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise WrongUsage(f"{output} cannot be written: {error.strerror}.", "Name another file.") from None

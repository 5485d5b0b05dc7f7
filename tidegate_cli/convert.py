"""``tidegate convert``: tidegate.yaml from the configuration file of another tool."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.converting.kind import Kind
from tidegate_cli.options import Json
from tidegate_cli.problems import Refused, WrongUsage

if TYPE_CHECKING:
    from tidegate_cli.converting.draft import Draft
    from tidegate_cli.converting.ledger import Entry

_SHAPES = {"kept": "✔", "changed": "~", "dropped": "✘"}
#: What is lost that a refusal names; the report has all of it.
_NAMED = 40

_From = Annotated[
    Kind | None, typer.Option("--from", help="The tool that the file is from, if tidegate convert cannot detect it.")
]
_Lossy = Annotated[
    list[str] | None,
    typer.Option("--lossy", metavar="KEY", help="Accept the loss of this key or value. You may repeat the option."),
]
_Repository = Annotated[
    str | None,
    typer.Option("--repository", metavar="OWNER/NAME", help="The repository to convert, if the export has several."),
]


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The other tool's file.")],
    *,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write to this file. Default: print.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    kind: _From = None,
    lossy: _Lossy = None,
    repository: _Repository = None,
    json: Json = False,
) -> None:
    """Convert another tool's file to tidegate.yaml, and report on stderr what became of each of its lines.

    Exits 1 and writes nothing if the result would grant more or deploy less than before, unless --lossy accepts it.
    """
    from tidegate_cli import screen
    from tidegate_cli.configuration import content_of

    if output is not None and os.path.lexists(output) and not force:
        raise Refused(f"{output} exists.", "Add --force to overwrite it.")
    found, draft, text = _converted(file, content_of(file, "tidegate convert FILE"), kind, repository)
    _check(file, draft, lossy or (), json=json)
    if output is not None:
        _write(output, text)
    entries = draft.ledger.entries()
    if json:
        told = [{"line": each.line, "text": each.text} for each in entries if each.text]
        document = {"file": str(output) if output else None, "from": str(found), "content": text, "left_out": told}
        screen.print_json(document | {"report": [_entry(each) for each in entries]})
        return
    if output is None:
        typer.echo(text, nl=False)
    for line in _report(file, entries):
        screen.note(line)
    written = f"Wrote {output}. " if output is not None else ""
    screen.note(f"{written}{_counted(entries)}. Check the result: tidegate validate, tidegate explain.")


def _converted(file: Path, raw: bytes, asked: Kind | None, repository: str | None) -> tuple[Kind, Draft, str]:
    from tidegate.documents.document import read_document
    from tidegate.rules.errors import InvalidConfiguration
    from tidegate_cli.converting.draft import finished
    from tidegate_cli.converting.formats import draft_of, kind_of

    try:
        document = read_document(str(file), raw, merging=True)
        kind = kind_of(document, asked)
        draft = draft_of(document, kind, repository)
        return kind, draft, finished(draft)
    except InvalidConfiguration as error:
        raise Refused(str(error), "Correct the file first.") from None


def _check(file: Path, draft: Draft, agreed: Collection[str], *, json: bool) -> None:
    """Refuse to lose what nobody agreed to."""
    from tidegate_cli import screen

    lost = draft.ledger.lossy(agreed)
    if not lost:
        return
    told = [f"{file}:{each.line}: {each.text}{_agreed(each)}" for each in lost]
    for line in () if json else told:
        screen.note(f"{_SHAPES['dropped']} {line}")
    names = dict.fromkeys(each.lossy for each in lost)
    count = f"{len(lost)} of its lines" if len(lost) > 1 else "one of its lines"
    raise Refused(
        f"{file} was not converted: without {count}, the result would grant more permissions or deploy differently."
        + ("".join(f" {line}" for line in told[:_NAMED]) if json else ""),
        "Nothing was written. Correct the file, or accept the loss: "
        + " ".join(f"--lossy {quote(name)}" for name in names),
    )


def _report(file: Path, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield a line for each key that there is something to say of, and for lines between that are alike."""
    told = {each.line for each in entries if each.text}
    shown = [each for each in entries if each.text or each.line not in told]
    for (text, fate, _), group in groupby(shown, lambda each: (each.text, each.fate, each.lossy)):
        alike = list(group)
        last = max(each.line for each in alike)
        lines = f"{alike[0].line}-{last}" if last > alike[0].line and not text else str(alike[0].line)
        why = text or ("with its section." if fate == "dropped" else "")
        yield f"{_SHAPES[fate]} {file}:{lines}: {fate}{f': {why}' if why else ''}{_agreed(alike[0])}"


def _agreed(entry: Entry) -> str:
    return f" (--lossy {entry.lossy})" if entry.lossy else ""


def _counted(entries: Sequence[Entry]) -> str:
    """Return how many keys were kept, changed and dropped."""
    counts = {fate: len({each.key for each in entries if each.fate == fate}) for fate in _SHAPES}
    if not counts["changed"] and not counts["dropped"]:
        return "Everything is converted"
    return ", ".join(f"{count} {fate}" for fate, count in counts.items())


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "line": entry.line,
        "key": entry.key,
        "fate": str(entry.fate),
        "text": entry.text,
        "lossy": entry.lossy or None,
    }


def _write(output: Path, text: str) -> None:
    """Write the file whole or not at all."""
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(output)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise WrongUsage(f"{output} cannot be written: {error.strerror}.", "Name another file.") from None

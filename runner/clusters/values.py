"""The values that commands write: a JSON object, or lines ``NAME=VALUE``, in the file of ``TIDEGATE_VALUES``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from runner.faults import TaskFailed

#: Bytes of the file: a value is a reference or a small document.
MOST_BYTES = 65_536
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

Values = Mapping[str, str]


def read_values(file: Path, what: str) -> Values:
    """Return what a command has written, nothing if there is no such file. Raise TaskFailed for an unusable one."""
    if not file.is_file():
        return {}
    if file.stat().st_size > MOST_BYTES:
        raise _wrong(what, f"more than {MOST_BYTES:,} bytes")
    try:
        text = file.read_text(encoding="utf-8")
        values = _of_json(text) if text.lstrip().startswith("{") else _of_lines(text)
    except ValueError as error:
        raise _wrong(what, str(error)) from error
    for name in values:
        if not _NAME.fullmatch(name):
            raise _wrong(what, f"the name {name[:40]!r}, which is not of small letters, digits and dashes")
    return values


def _of_json(text: str) -> Values:
    read = json.loads(text)
    return {
        name: said if isinstance(said, str) else json.dumps(said, separators=(",", ":")) for name, said in read.items()
    }


def _of_lines(text: str) -> Values:
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, said = line.partition("=")
        if line.strip() and not equals:
            raise ValueError(f"no = in line {number}")
        if equals:
            values[name.strip()] = said.strip()
    return values


def _wrong(what: str, why: str) -> TaskFailed:
    return TaskFailed(f"{what} wrote unusable values: {why}. Write NAME=VALUE lines, or a JSON object.")

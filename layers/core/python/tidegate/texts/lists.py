"""Lists in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.texts.markdown import code

#: Names that a sentence shows.
_LISTED = 50


def code_names(names: Sequence[str]) -> str:
    """Return names as code, in one line, of many the first only."""
    return joined([code(name) for name in names])


def joined(names: Sequence[str]) -> str:
    """Return texts in one line, of many the first only."""
    shown = ", ".join(names[:_LISTED])
    return f"{shown} and {len(names) - _LISTED} more" if len(names) > _LISTED else shown


def bullets(lines: Iterable[str]) -> str:
    """Return a list with a line for each text."""
    return "\n".join(f"- {line}" for line in lines)

"""The reason that a person gives with a decision."""

from __future__ import annotations

from tidegate.texts.markdown import one_line

#: Characters of a reason.
MAXIMUM_REASON = 500


def tidied(text: str) -> str:
    """Return a reason as it is stored: one line, without control characters, cut at its longest."""
    return one_line(text, MAXIMUM_REASON)


def because(sentence: str, reason: str) -> str:
    """Return a sentence, which ends in a full stop, with the reason, if there is one."""
    end = "" if reason.endswith((".", "!", "?")) else "."
    return f"{sentence.removesuffix('.')}: {reason}{end}" if reason else sentence

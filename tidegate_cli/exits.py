"""Exit codes of ``tidegate``, on which scripts may rely."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class Exit(IntEnum):
    """An exit code. ``word`` and ``meaning`` say it in short and in full."""

    word: str
    meaning: str

    def __new__(cls, code: int, word: str, meaning: str) -> Self:
        """Make the member with what it means."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.word, member.meaning = word, meaning
        return member

    OK = (0, "done", "The command succeeded, and so did what it waited for or followed.")
    FAILED = (
        1,
        "refused or failed",
        "Tidegate refused the request, or what the command waited for or followed failed.",
    )
    USAGE = (2, "usage", "An argument, an option or a setting is invalid.")
    NOT_FOUND = (3, "not found", "It does not exist, or you may not see it.")
    NOT_PERMITTED = (4, "not permitted", "You are not signed in, or you lack a permission.")
    UNAVAILABLE = (5, "unavailable", "The installation, or a service that it needs, does not answer. Try again later.")
    NOT_YET = (6, "not in time", "The time limit passed. What you started continues.")
    INTERRUPTED = (130, "interrupted", "You pressed Ctrl-C. What you started continues.")


def epilog() -> str:
    """Return the exit codes in a line, for --help."""
    return f"Exit codes: {', '.join(f'{code.value} {code.word}' for code in Exit)} (docs/cli.md)."

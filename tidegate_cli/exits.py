"""How ``tidegate`` ends: its exit codes, which scripts may rely on."""

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

    OK = (0, "done", "It was done. What was waited for or followed succeeded.")
    FAILED = (1, "refused or failed", "It was refused, or what was waited for or followed did not succeed.")
    USAGE = (2, "usage", "The command line or a setting cannot be used.")
    NOT_FOUND = (3, "not found", "There is no such thing, or it may not be seen.")
    NOT_PERMITTED = (4, "not permitted", "Nobody is signed in, or a right is missing.")
    UNAVAILABLE = (5, "unavailable", "The server, or something that it needs, cannot be reached. Try again later.")
    NOT_YET = (6, "not in time", "The time limit passed before the end. What was started goes on.")
    INTERRUPTED = (130, "interrupted", "Ended by Ctrl-C. What was started goes on.")


def epilog() -> str:
    """Return the exit codes in a line, for --help."""
    return f"Exit codes: {', '.join(f'{code.value} {code.word}' for code in Exit)} (docs/cli.md)."

"""The output of an ``env`` step's program, as variables."""

from __future__ import annotations

from tidegate.deploys.rules.workflow import WorkflowStep
from tidegate.deploys.rules.workflow_rules import name_problem

#: Linux takes no variable of more than 128 KiB.
LONGEST_OUTPUT = 100_000


class Captured:
    """Captures a program's output up to a limit: more is read and dropped."""

    def __init__(self) -> None:
        self._content = bytearray()
        self._too_long = False

    def take(self, block: bytes) -> None:
        room = LONGEST_OUTPUT - len(self._content)
        self._too_long |= len(block) > room
        self._content += block[:room]

    def text(self) -> str:
        """Return all of it. Raise ValueError for unusable text, with a clause that does not reveal it."""
        if self._too_long:
            raise ValueError(f"its program printed more than {LONGEST_OUTPUT:,} bytes")
        try:
            text = self._content.decode()
        except UnicodeDecodeError:
            raise ValueError("its program printed invalid UTF-8") from None
        if "\0" in text:
            raise ValueError("its program printed a NUL byte, which variables cannot contain")
        return text


def set_by(step: WorkflowStep, captured: Captured) -> dict[str, str]:
    """Return the variables that an ``env`` step sets. Raise ValueError, as a clause, for what it may not set."""
    text = captured.text()
    values = dict(_lines(text)) if step.source else {step.name: text.rstrip("\r\n")}
    for name in values:
        if problem := name_problem(name):
            raise ValueError(problem)
    return values


def _lines(text: str) -> list[tuple[str, str]]:
    """Return the pairs of ``NAME=VALUE`` lines. Empty lines and comments (``#``) are passed over."""
    pairs = []
    for number, line in enumerate(text.split("\n"), 1):
        plain = line.removesuffix("\r")
        if not plain.strip() or plain.lstrip().startswith("#"):
            continue
        name, equals, value = plain.removeprefix("export ").partition("=")
        if not equals:
            raise ValueError(f"line {number} of its program's output is not NAME=VALUE")
        pairs.append((name, value))
    return pairs

"""A log's lines for display: with their own colours or, without any, coloured by content; preparation apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidegate.web.ansi import Piece, pieces

#: Engine output without colours, as runners request it.
_MEANINGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"tidegate: "), "dim"),
    (re.compile(r"(?:[│╷╵] )?Error:"), "bold fg1"),
    (re.compile(r"(?:[│╷╵] )?Warning:"), "bold fg3"),
    (
        re.compile(r"(?:Apply|Destroy) complete!|No changes\.|Terraform has been successfully|OpenTofu has been succ"),
        "bold fg2",
    ),
    (re.compile(r"Plan: \d"), "bold"),
    (re.compile(r" *# .* (?:will|must) be "), "bold"),
    (re.compile(r" *(?:-/\+|\+/-) "), "fg1"),
    (re.compile(r" *\+ "), "fg2"),
    (re.compile(r' *- (?:resource |destroy\b|\S+ += |\S+ \{|["[{])'), "fg1"),
    (re.compile(r" *~ "), "fg3"),
)


def shown(line: str) -> list[Piece]:
    """Return the pieces of a line."""
    found = pieces(line)
    if len(found) != 1 or found[0].style:
        return found
    text = found[0].text
    style = next((style for pattern, style in _MEANINGS if pattern.match(text)), "")
    return [Piece(text, style)]


#: What engines print first once they plan or apply. Before it, the runner clones, and the engine initializes.
_WORK = re.compile(
    r"(?:[│╷╵] )?Error:|(?:Terraform|OpenTofu) (?:used|will|planned)|No changes\.|Plan: \d|Changes to Outputs:"
    r"|\S+: (?:Reading|Refreshing state|Creating|Modifying|Destroying|Importing|Still )"
)


def prepared(lines: Sequence[str]) -> int:
    """Return how many of a log's first lines are preparation: all, while the engine has not begun to work."""
    return next((at for at, line in enumerate(lines) if _WORK.match(line)), len(lines))

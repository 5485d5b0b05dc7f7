"""What remains of roots that a pull request removes, or that are gone, as text."""

from __future__ import annotations


def stays(left: int | None) -> str:
    """Return how many resources stay behind of a root that is gone; ``left`` is None where that is not known."""
    if left is None:
        return "the number of resources that remain is unknown"
    if not left:
        return "no resources remain"
    return "1 resource remains" if left == 1 else f"{left} resources remain"

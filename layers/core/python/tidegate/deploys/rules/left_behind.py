"""What stays behind of roots that a pull request takes away, or that are gone, in words."""

from __future__ import annotations


def stays(left: int | None) -> str:
    """Return how many resources stay behind of a root that is gone; ``left`` is None where that is not known."""
    if left is None:
        return "what stays behind could not be counted"
    if not left:
        return "nothing stays behind"
    return "1 resource stays behind" if left == 1 else f"{left} resources stay behind"

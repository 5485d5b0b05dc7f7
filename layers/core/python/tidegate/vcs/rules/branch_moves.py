"""Where a branch may move."""

from __future__ import annotations

from tidegate.vcs.rules.comparison import Comparison

#: How a commit relates to one that it follows.
FORWARD = frozenset({Comparison.AHEAD, Comparison.IDENTICAL})


def only_forward(branch: str, new: str) -> str:
    """Return why the default branch does not move to a commit, as sentences."""
    return f"{branch} is the default branch: it only moves forward, to a tested commit. {new[:12]} is none."

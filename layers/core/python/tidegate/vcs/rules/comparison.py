"""How two commits of a repository relate."""

from __future__ import annotations

from enum import StrEnum


class Comparison(StrEnum):
    """How a commit relates to the last deployed one; the first four are the VCS provider's words."""

    AHEAD = "ahead"
    IDENTICAL = "identical"
    BEHIND = "behind"
    DIVERGED = "diverged"
    BASE_MISSING = "base missing"
    HEAD_MISSING = "head missing"

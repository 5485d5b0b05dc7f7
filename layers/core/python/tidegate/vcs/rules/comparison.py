"""How two commits of a repository relate."""

from __future__ import annotations

from enum import StrEnum


class Comparison(StrEnum):
    """How a commit relates to the one deployed last; the first four are the forge's words."""

    AHEAD = "ahead"
    IDENTICAL = "identical"
    BEHIND = "behind"
    DIVERGED = "diverged"
    BASE_MISSING = "base missing"
    HEAD_MISSING = "head missing"

"""The tools whose files are converted."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """A tool, as ``--from`` names it."""

    ATLANTIS = "atlantis"
    TERRATEAM = "terrateam"
    DIGGER = "digger"
    HCP = "hcp"
    SPACELIFT = "spacelift"

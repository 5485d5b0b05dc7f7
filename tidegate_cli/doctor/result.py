"""What a check of ``tidegate doctor`` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Result:
    """What one check found; ``do`` says what to do when it is not ok."""

    check: str
    verdict: Verdict
    found: str
    do: str = ""


def reason_of(error: Exception) -> str:
    """Return why something could not be checked, cut off where it is too long to read."""
    return f"{type(error).__name__}: {error}"[:300]
